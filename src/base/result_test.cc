#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace tonnage {
namespace {

Result<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("{} is odd", x);
  return x / 2;
}

Result<int> Quarter(int x) {
  ASSIGN_OR_RETURN(int half, Half(x));
  return Half(half);
}

TEST(Result, CarriesValueOrError) {
  EXPECT_EQ(*Quarter(8), 2);
  auto failed = Quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(failed.error().message(), "3 is odd");
  EXPECT_EQ(failed.error().In("here").message(), "here: 3 is odd");
}

TEST(Result, AnErrorMayBeAboutAField) {
  const Error error = InvalidArgument("3 is odd").About("n");
  EXPECT_EQ(error.field(), "n");
  EXPECT_EQ(error.In("here").field(), "n");
  EXPECT_EQ(InvalidArgument("3 is odd").field(), "");
}

TEST(Result, MovesOwners) {
  Result<std::unique_ptr<int>> owner = std::make_unique<int>(7);
  std::unique_ptr<int> taken = std::move(owner).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, EveryCodeHasARow) {
  EXPECT_EQ(ExitCode(Code::kRefused), 3);
  EXPECT_EQ(ExitCode(Code::kUnreadable), 4);
  EXPECT_EQ(ExitCode(Code::kInternal), 1);
  EXPECT_EQ(HttpStatus(Code::kBusy), 429);
  EXPECT_EQ(CodeName(Code::kCancelled), "cancelled");
}

TEST(CheckDeathTest, NamesPlaceAndCondition) {
  EXPECT_DEATH(CHECK(1 == 2) << "numbers broke", "result_test.cc.*1 == 2.*numbers broke");
}

}  // namespace
}  // namespace tonnage
