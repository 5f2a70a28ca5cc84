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
    return ResolveHostBudget(ReadHostLimits(process_, root_), user).value().front();
  }

  // What is left of so many free bytes when a byte of page tables has been paid for every 512.
  static Bytes WithoutTables(Bytes free) { return free - CeilDiv(free, 513); }

  fs::path root_;
  HostProcess process_;
};

TEST_F(HostMemoryTest, AGlanceReadsTheCountersAndALookTheRollUp) {
  Write("proc/self/status", "VmSize: 900 kB\nVmData: 400 kB\nRssAnon: 300 kB\nVmSwap: 8 kB\n");
  EXPECT_EQ(GlanceAtHostProcess(root_).anonymous, 308 * kKiB);
  EXPECT_EQ(ReadHostProcess(root_).anonymous, 308 * kKiB) << "where there is no roll-up";
  Write("proc/self/smaps_rollup", "Rss: 800 kB\nAnonymous: 320 kB\nSwap: 12 kB\n");
  EXPECT_EQ(GlanceAtHostProcess(root_).anonymous, 308 * kKiB);
  EXPECT_EQ(ReadHostProcess(root_).anonymous, 332 * kKiB);
  EXPECT_EQ(ReadHostProcess(root_).writable, 400 * kKiB);
  EXPECT_EQ(ReadHostProcess(root_).mapped, 900 * kKiB);
}

TEST_F(HostMemoryTest, SharedLimitsAreThoseThatOthersCanLower) {
  Write("proc/sys/vm/overcommit_memory", "2\n");
  const auto shared = ReadSharedLimits(process_, root_);
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_EQ(shared[0].source, "the RAM that is available");
  const auto fixed = ReadAddressSpaceLimits(process_, root_);
  EXPECT_EQ(fixed.at(0).source, "strict overcommit");
  EXPECT_EQ(ReadHostLimits(process_, root_).size(), shared.size() + fixed.size());
}

TEST_F(HostMemoryTest, MapsLimitTheBuffers) {
  EXPECT_EQ(ReadHostBufferLimit(root_).buffers, INT64_MAX);
  Write("proc/sys/vm/max_map_count", "65530\n");
  Write("proc/self/maps", "a\nb\nc\n");
  EXPECT_EQ(ReadHostBufferLimit(root_).buffers, 65530 - 3 - 1024);
  EXPECT_EQ(ReadHostBufferLimit(root_).source, "the system's vm.max_map_count");
  Write("proc/sys/vm/max_map_count", "100\n");
  EXPECT_EQ(ReadHostBufferLimit(root_).buffers, 0);
}

TEST_F(HostMemoryTest, RamIsTheLimitWhenNothingElseIs) {
  EXPECT_EQ(Resolve().bytes, WithoutTables(800 * kKiB));
  EXPECT_EQ(Resolve().source, "the RAM that is available");
}

TEST_F(HostMemoryTest, WhatTheProcessHoldsCountsAsItsOwnAndWhatTheKernelNeedsDoesNot) {
  process_ = {.anonymous = 300 * kKiB, .coming_threads = 2, .coming_file_bytes = 512 * 8 * kKiB};
  EXPECT_EQ(Resolve().bytes, 300 * kKiB + WithoutTables((800 - 2 * 32 - 8) * kKiB));
  process_.coming_threads = 1000;
  EXPECT_EQ(Resolve().bytes, 300 * kKiB) << "nothing is left, but what is held is held";
}

TEST_F(HostMemoryTest, StrictOvercommitCounts) {
  Write("proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(Resolve().source, "strict overcommit");
  EXPECT_EQ(Resolve().bytes, 0) << "less than the heap takes ahead";
  Write("proc/meminfo", "MemAvailable: 80000 kB\nCommitLimit: 70000 kB\nCommitted_AS: 30000 kB\n");
  process_ = {.thread_stack_bytes = 8 * kMiB, .coming_threads = 3};
  EXPECT_EQ(Resolve().bytes, 40000 * kKiB - 24 * kMiB - kMiB);
  Write("proc/sys/vm/overcommit_memory", "0\n");
  EXPECT_EQ(Resolve().source, "the RAM that is available");
}

TEST_F(HostMemoryTest, EveryLevelOfACgroupV2Counts) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("sys/fs/cgroup/a/b/memory.current", "1000\n");
  Write("sys/fs/cgroup/a/memory.max", "500000\n");
  Write("sys/fs/cgroup/a/memory.current", "200000\n");
  Write("sys/fs/cgroup/a/memory.stat",
        "anon 1\ninactive_file 50000\nactive_file 20000\nfile_dirty 3000\nfile_writeback 2000\n");
  EXPECT_EQ(Resolve().bytes, WithoutTables(500000 - 200000 + 70000 - 5000));
  EXPECT_EQ(Resolve().source, "the cgroup's memory.max");
}

TEST_F(HostMemoryTest, CgroupV1Counts) {
  Write("proc/self/cgroup", "5:cpu,memory:/job\n3:cpuset:/\n");
  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000\n");
  Write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100000\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
  EXPECT_EQ(Resolve().bytes, WithoutTables(200000));
  // The cache of a checkpoint that was loaded twice is as free as that of one loaded once.
  for (const char* list : {"total_inactive_file", "total_active_file"}) {
    Write("sys/fs/cgroup/memory/job/memory.stat", std::string(list) + " 90000\n");
    EXPECT_EQ(Resolve().bytes, WithoutTables(290000)) << list;
  }
}

TEST_F(HostMemoryTest, AUserCanOnlyLower) {
  EXPECT_EQ(Resolve({{"--memory-limit", "100K"}}).bytes, 100 * kKiB);
  EXPECT_EQ(Resolve({{"--memory-limit", "100K"}}).source, "--memory-limit");
  EXPECT_EQ(Resolve({{"TONNAGE_MEMORY_LIMIT", "1T"}}).bytes, WithoutTables(800 * kKiB));
  EXPECT_EQ(Resolve({{"--memory-limit", "200K"}, {"TONNAGE_MEMORY_LIMIT", "1K"}}).source,
            "TONNAGE_MEMORY_LIMIT");
}

TEST_F(HostMemoryTest, SaysHowTheBudgetCameAbout) {
  const auto limits = ResolveHostBudget({{800 * kKiB, "the RAM that is available"}},
                                        {{"--memory-limit", "1T"}, {"TONNAGE_MEMORY_LIMIT", "9K"}});
  EXPECT_EQ(DescribeLimits(*limits),
            "9.0 KiB by TONNAGE_MEMORY_LIMIT (the RAM that is available: 800.0 KiB, "
            "--memory-limit: 1.0 TiB)");
  EXPECT_EQ(DescribeLimits(std::span(*limits).first(1)), "9.0 KiB by TONNAGE_MEMORY_LIMIT");
}

TEST(HostProcess, IsReadFromProc) {
  const fs::path root = fs::path(::testing::TempDir()) / ("process" + std::to_string(getpid()));
  fs::create_directories(root / "proc/self");
  std::ofstream(root / "proc/self/smaps_rollup") << "0-1 [rollup]\nAnonymous:  12 kB\nSwap: 3 kB\n";
  std::ofstream(root / "proc/self/status")
      << "VmSize:\t 900 kB\nRssAnon:\t 10 kB\nVmData:\t 400 kB\n";
  HostProcess process = ReadHostProcess(root);
  EXPECT_EQ(process.anonymous, 15 * kKiB);
  EXPECT_EQ(process.writable, 400 * kKiB);
  EXPECT_EQ(process.mapped, 900 * kKiB);
  fs::remove(root / "proc/self/smaps_rollup");
  EXPECT_EQ(ReadHostProcess(root).anonymous, 10 * kKiB) << "kernels without the roll-up";
  fs::remove_all(root);
  EXPECT_GT(ReadHostProcess().anonymous, 100 * kKiB);
  EXPECT_GT(ReadAnonymousBytes(getpid()), 100 * kKiB);
  EXPECT_GT(ReadHostProcess().thread_stack_bytes, 64 * kKiB);
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
