#include "base/subprocess.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

TEST(Subprocess, ReportsExitSignalAndAbsence) {
  EXPECT_EQ(*RunProgram({"true"}), 0);
  EXPECT_EQ(*RunProgram({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(RunProgram({"sh", "-c", "kill -9 $$"}).error().code(), Code::kUnavailable);
  EXPECT_EQ(RunProgram({"no-such-program-here"}).error().code(), Code::kUnavailable);
}

TEST(Subprocess, NoShellReadsTheArguments) {
  EXPECT_EQ(*RunProgram({"test", "$HOME", "=", "$HOME"}), 0);
}

}  // namespace
}  // namespace tonnage
