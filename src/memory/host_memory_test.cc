#include "memory/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace tonnage {
namespace {

namespace fs = std::filesystem;

// A /proc and /sys of our own.
class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest() : root_(fs::path(::testing::TempDir()) / ("host" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    Write(
        "proc/meminfo",
        "MemTotal: 1000 kB\nMemAvailable:    800 kB\nCommitLimit: 700 kB\nCommitted_AS: 300 kB\n");
  }
  ~HostMemoryTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  MemoryLimit Resolve(const std::vector<UserLimit>& user = {}) {
    return ResolveHostBudget(ReadHostLimits(root_), user).value();
  }

  fs::path root_;
};

TEST_F(HostMemoryTest, RamIsTheLimitWhenNothingElseIs) {
  EXPECT_EQ(Resolve().bytes, 800 * kKiB);
  EXPECT_EQ(Resolve().source, "the RAM that is available");
}

TEST_F(HostMemoryTest, StrictOvercommitCounts) {
  Write("proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(Resolve().bytes, 400 * kKiB);
  Write("proc/sys/vm/overcommit_memory", "0\n");
  EXPECT_EQ(Resolve().bytes, 800 * kKiB);
}

TEST_F(HostMemoryTest, EveryLevelOfACgroupV2Counts) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("sys/fs/cgroup/a/b/memory.current", "1000\n");
  Write("sys/fs/cgroup/a/memory.max", "500000\n");
  Write("sys/fs/cgroup/a/memory.current", "200000\n");
  Write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 50000\n");
  EXPECT_EQ(Resolve().bytes, 350000);
  EXPECT_EQ(Resolve().source, "the cgroup's memory.max");
}

TEST_F(HostMemoryTest, CgroupV1Counts) {
  Write("proc/self/cgroup", "5:cpu,memory:/job\n3:cpuset:/\n");
  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000\n");
  Write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100000\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
  EXPECT_EQ(Resolve().bytes, 200000);
}

TEST_F(HostMemoryTest, AUserCanOnlyLower) {
  EXPECT_EQ(Resolve({{"--memory-limit", "100K"}}).bytes, 100 * kKiB);
  EXPECT_EQ(Resolve({{"--memory-limit", "100K"}}).source, "--memory-limit");
  EXPECT_EQ(Resolve({{"TONNAGE_MEMORY_LIMIT", "1T"}}).bytes, 800 * kKiB);
  EXPECT_EQ(Resolve({{"--memory-limit", "200K"}, {"TONNAGE_MEMORY_LIMIT", "1K"}}).source,
            "TONNAGE_MEMORY_LIMIT");
}

TEST(ByteSize, IsParsedStrictly) {
  EXPECT_EQ(*ParseByteSize("x", "0"), 0);
  EXPECT_EQ(*ParseByteSize("x", "8G"), 8 * kGiB);
  EXPECT_EQ(*ParseByteSize("x", "8gib"), 8 * kGiB);
  EXPECT_EQ(*ParseByteSize("x", "512Mb"), 512 * kMiB);
  EXPECT_EQ(*ParseByteSize("x", "123B"), 123);
  for (const char* junk : {"", "G", "8 G", " 8G", "8Q", "-8G", "8.5G", "0x10", "8GG",
                           "99999999999999999999", "9999999999T"}) {
    const auto parsed = ParseByteSize("TONNAGE_MEMORY_LIMIT", junk);
    ASSERT_FALSE(parsed.ok()) << junk;
    EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument);
    EXPECT_EQ(parsed.error().message().find("TONNAGE_MEMORY_LIMIT: "), 0u);
  }
}

}  // namespace
}  // namespace tonnage
