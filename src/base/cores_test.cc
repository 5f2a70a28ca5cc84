#include "base/cores.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

namespace tonnage {
namespace {

namespace fs = std::filesystem;

TEST(Cores, QuotasOfEveryLevelCount) {
  const fs::path root = fs::path(::testing::TempDir()) / ("cores" + std::to_string(getpid()));
  const int without = UsableCores(root);
  EXPECT_GE(without, 1);
  fs::create_directories(root / "proc/self");
  fs::create_directories(root / "sys/fs/cgroup/a/b");
  std::ofstream(root / "proc/self/cgroup") << "0::/a/b\n";
  std::ofstream(root / "sys/fs/cgroup/a/b/cpu.max") << "max 100000\n";
  EXPECT_EQ(UsableCores(root), without);
  std::ofstream(root / "sys/fs/cgroup/a/cpu.max") << "150000 100000\n";
  EXPECT_EQ(UsableCores(root), 1);
  std::ofstream(root / "sys/fs/cgroup/a/cpu.max") << "5000 100000\n";
  EXPECT_EQ(UsableCores(root), 1);
  fs::remove_all(root);
}

TEST(Cores, APinnedThreadStaysOnItsProcessor) {
  const std::vector<int> before = AllowedProcessors();
  ASSERT_FALSE(before.empty());
  std::vector<int> inside;
  std::thread([&] {
    EXPECT_TRUE(PinThread(before.back()));
    inside = AllowedProcessors();
  }).join();
  EXPECT_EQ(inside, std::vector<int>{before.back()});
  EXPECT_EQ(AllowedProcessors(), before);
  EXPECT_FALSE(PinThread(-1));
}

}  // namespace
}  // namespace tonnage
