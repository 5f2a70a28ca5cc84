#include "base/exhaustion.h"

#include <gtest/gtest.h>

#include <vector>

namespace tonnage {
namespace {

TEST(Exhaustion, BecomesAnErrorAndNothingElseDoes) {
  EXPECT_EQ(OrExhausted([]() -> Result<int> { return 7; }).value(), 7);
  const auto no_memory = OrExhausted([]() -> Result<int> { throw std::bad_alloc(); });
  EXPECT_EQ(no_memory.error().code(), Code::kRefused);
  const auto no_thread = OrExhausted([]() -> Status {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  EXPECT_EQ(no_thread.error().code(), Code::kUnavailable);
  EXPECT_THROW((void)OrExhausted([]() -> Status { throw std::out_of_range("a fault of ours"); }),
               std::out_of_range);
}

}  // namespace
}  // namespace tonnage
