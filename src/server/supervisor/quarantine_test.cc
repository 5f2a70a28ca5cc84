#include "server/supervisor/quarantine.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(Quarantine, TwoSuccessiveCrashesAreNeeded) {
  Quarantine quarantine;
  quarantine.Crashed({1, 2});
  EXPECT_TRUE(quarantine.Check(1).ok());
  quarantine.Crashed({2, 3});
  EXPECT_TRUE(quarantine.Check(1).ok());
  EXPECT_EQ(quarantine.Check(2).error().code(), Code::kInvalidArgument);
  EXPECT_TRUE(quarantine.Check(3).ok());
  quarantine.Crashed({1});  // not in the one before
  EXPECT_TRUE(quarantine.Check(1).ok());
  EXPECT_FALSE(quarantine.Check(2).ok());
}

TEST(Quarantine, AGoodEndClears) {
  Quarantine quarantine;
  quarantine.Crashed({1});
  quarantine.Finished(1);
  quarantine.Crashed({1});
  EXPECT_TRUE(quarantine.Check(1).ok());
}

TEST(Quarantine, IsBounded) {
  Quarantine quarantine;
  for (std::uint64_t key = 0; key < 5000; ++key) {
    quarantine.Crashed({key});
    quarantine.Crashed({key});
  }
  EXPECT_EQ(quarantine.size(), 4096u);
  EXPECT_TRUE(quarantine.Check(0).ok());
  EXPECT_FALSE(quarantine.Check(4999).ok());
}

}  // namespace
}  // namespace tonnage
