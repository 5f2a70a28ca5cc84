#include "memory/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tonnage {
namespace {

using ::testing::HasSubstr;

TEST(Budget, ALimitBelowWhatIsUsedGivesNothingMoreAndTakesNothingBack) {
  Budget budget(1000, 10, "the device");
  auto held = budget.Reserve(700);
  ASSERT_TRUE(held.ok());
  budget.SetLimit(500, "other tenants");
  const auto refused = budget.Reserve(0);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(budget.Reserve(1).error().message(),
            "1 B more needed, but only 0 B of the 500 B that other tenants allows are free");
  EXPECT_EQ(budget.used_bytes(), 700);
  budget.SetLimit(1000, "the device");
  EXPECT_TRUE(budget.Reserve(300).ok());
}

TEST(Budget, RemembersTheMostThatWasHeld) {
  Budget budget(1000, 10, "the device");
  {
    auto a = budget.Reserve(600);
    auto b = budget.Reserve(300);
  }
  auto c = budget.Reserve(100);
  const BudgetStatus status = budget.status();
  EXPECT_EQ(status.peak_bytes, 900);
  EXPECT_EQ(status.peak_buffers, 2);
  EXPECT_EQ(status.used_bytes, 100);
  EXPECT_EQ(status.used_buffers, 1);
}

TEST(BufferLimit, OnlyLowers) {
  EXPECT_EQ(LowerBufferLimit(100, "TONNAGE_BUFFER_LIMIT", "").value(), 100);
  EXPECT_EQ(LowerBufferLimit(100, "TONNAGE_BUFFER_LIMIT", "40").value(), 40);
  EXPECT_EQ(LowerBufferLimit(100, "TONNAGE_BUFFER_LIMIT", "1000").value(), 100);
}

TEST(BufferLimit, JunkNamesTheVariable) {
  for (const char* junk : {"0", "-1", "ten", "10x", " 10", "1e3", "99999999999999999999"}) {
    const auto limit = LowerBufferLimit(100, "TONNAGE_BUFFER_LIMIT", junk);
    ASSERT_FALSE(limit.ok()) << junk;
    EXPECT_EQ(limit.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(limit.error().message(), HasSubstr("TONNAGE_BUFFER_LIMIT: `"));
  }
}

}  // namespace
}  // namespace tonnage
