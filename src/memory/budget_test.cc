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

TEST(Budget, TooManyBuffersNameWhoLimitsThem) {
  Budget budget(1000, 1, "the device", "TONNAGE_BUFFER_LIMIT");
  auto held = budget.Reserve(1);
  EXPECT_EQ(budget.Reserve(1).error().message(),
            "one more buffer needed, but all 1 that TONNAGE_BUFFER_LIMIT allows are in use");
}

TEST(BufferLimit, OnlyLowersAndTheLowestIsNamed) {
  const auto lowered = [](std::string_view flag, std::string_view variable) {
    return LowerBufferLimit({100, "the device"},
                            {{"--buffer-limit", flag}, {"TONNAGE_BUFFER_LIMIT", variable}})
        .value();
  };
  EXPECT_EQ(lowered("", "").buffers, 100);
  EXPECT_EQ(lowered("", "").source, "the device");
  EXPECT_EQ(lowered("1000", "100").source, "the device");
  EXPECT_EQ(lowered("50", "40").buffers, 40);
  EXPECT_EQ(lowered("50", "40").source, "TONNAGE_BUFFER_LIMIT");
  EXPECT_EQ(lowered("30", "40").source, "--buffer-limit");
}

TEST(BufferLimit, JunkNamesTheVariable) {
  for (const char* junk : {"0", "-1", "ten", "10x", " 10", "1e3", "99999999999999999999"}) {
    const auto limit = LowerBufferLimit({100, "the device"}, {{"TONNAGE_BUFFER_LIMIT", junk}});
    ASSERT_FALSE(limit.ok()) << junk;
    EXPECT_EQ(limit.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(limit.error().message(), HasSubstr("TONNAGE_BUFFER_LIMIT: `"));
  }
}

}  // namespace
}  // namespace tonnage
