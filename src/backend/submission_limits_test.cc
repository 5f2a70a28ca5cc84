#include "backend/submission_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tonnage {
namespace {

using ::testing::HasSubstr;

constexpr SubmissionLimits kDevice = {.bytes = 1000, .launches = 10, .ms = 50};

Result<SubmissionLimits> Lower(std::string_view bytes, std::string_view launches,
                               std::string_view ms) {
  return LowerSubmissionLimits(kDevice, {.bytes = {"TONNAGE_SUBMISSION_BYTES", bytes},
                                         .launches = {"TONNAGE_SUBMISSION_LAUNCHES", launches},
                                         .ms = {"TONNAGE_SUBMISSION_MS", ms}});
}

TEST(SubmissionLimits, OnlyLower) {
  const SubmissionLimits none = Lower("", "", "").value();
  EXPECT_EQ(none.bytes, 1000);
  EXPECT_EQ(none.launches, 10);
  EXPECT_EQ(none.ms, 50);
  const SubmissionLimits lower = Lower("512", "3", "2.5").value();
  EXPECT_EQ(lower.bytes, 512);
  EXPECT_EQ(lower.launches, 3);
  EXPECT_EQ(lower.ms, 2.5);
  const SubmissionLimits higher = Lower("1G", "1000", "5000").value();
  EXPECT_EQ(higher.bytes, 1000);
  EXPECT_EQ(higher.launches, 10);
  EXPECT_EQ(higher.ms, 50);
}

TEST(SubmissionLimits, JunkNamesTheVariable) {
  for (const char* junk : {"x", "-1", " 1", "1 ", "1,5", "nan", "inf", "1e3", "0x10", "0", "1s"}) {
    for (const auto& [limits, name] :
         {std::pair{Lower(junk, "", ""), "TONNAGE_SUBMISSION_BYTES: "},
          std::pair{Lower("", junk, ""), "TONNAGE_SUBMISSION_LAUNCHES: "},
          std::pair{Lower("", "", junk), "TONNAGE_SUBMISSION_MS: "}}) {
      ASSERT_FALSE(limits.ok()) << name << junk;
      EXPECT_EQ(limits.error().code(), Code::kInvalidArgument);
      EXPECT_THAT(limits.error().message(), HasSubstr(name));
      EXPECT_THAT(limits.error().message(), HasSubstr(junk));
    }
  }
}

}  // namespace
}  // namespace tonnage
