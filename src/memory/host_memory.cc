#include "memory/host_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "memory/proc_file.h"

namespace tonnage {

namespace fs = std::filesystem;

namespace {

struct Unit {
  std::string_view letter;
  Bytes bytes;
};
constexpr Unit kUnits[] = {{"k", kKiB}, {"m", kMiB}, {"g", kGiB}, {"t", 1024 * kGiB}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// What the process may hold when `free` bytes are left to it and to what the kernel keeps for it:
// page tables, 8 bytes for each page of 4 KiB that memory or a file is mapped to, and the kernel's
// stack of each thread with what else it remembers of one.
Bytes Holdable(const HostProcess& process, Bytes free) {
  constexpr Bytes kPagesPerTableByte = 512;
  constexpr Bytes kKernelThreadBytes = 32 * kKiB;
  const Bytes rest = free - process.coming_file_bytes / kPagesPerTableByte -
                     process.coming_threads * kKernelThreadBytes;
  return process.anonymous + std::max<Bytes>(0, rest - CeilDiv(rest, kPagesPerTableByte + 1));
}

// The same where address space is what counts: stacks are taken whole, and the heap a little ahead.
Bytes HoldableIn(const HostProcess& process, Bytes free_space) {
  constexpr Bytes kHeapAhead = kMiB;
  return process.anonymous +
         std::max<Bytes>(
             0, free_space - process.coming_threads * process.thread_stack_bytes - kHeapAhead);
}

void AddRam(const HostProcess& process, const fs::path& root, std::vector<MemoryLimit>& limits) {
  if (const auto available = ReadProcField(root / "proc/meminfo", "MemAvailable:")) {
    limits.push_back({Holdable(process, *available * kKiB), "the RAM that is available"});
  }
}

void AddOvercommit(const HostProcess& process, const fs::path& root,
                   std::vector<MemoryLimit>& limits) {
  const fs::path meminfo = root / "proc/meminfo";
  if (ReadProcNumber(root / "proc/sys/vm/overcommit_memory") == 2) {
    const auto limit = ReadProcField(meminfo, "CommitLimit:");
    const auto committed = ReadProcField(meminfo, "Committed_AS:");
    if (limit && committed) {
      limits.push_back({HoldableIn(process, (*limit - *committed) * kKiB), "strict overcommit"});
    }
  }
}

// One level of a cgroup hierarchy.
struct CgroupFiles {
  const char* limit;
  const char* usage;
  const char* statistics_prefix;
};
constexpr CgroupFiles kCgroupV2 = {"memory.max", "memory.current", ""};
constexpr CgroupFiles kCgroupV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"};

// File cache that the kernel drops before it refuses memory. It stands on two lists by how often it
// was read, so a checkpoint that was loaded twice is on the other than one that was loaded once;
// what has yet to be written back is not to be had at once.
Bytes CgroupCache(const fs::path& folder, const std::string& prefix) {
  const auto field = [&](const char* key) {
    return ReadProcField(folder / "memory.stat", prefix + key).value_or(0);
  };
  const Bytes unwritten =
      field("dirty") + field("file_dirty") + field("writeback") + field("file_writeback");
  return std::max<Bytes>(0, field("inactive_file") + field("active_file") - unwritten);
}

void AddCgroup(const HostProcess& process, const fs::path& mount, fs::path group,
               const CgroupFiles& files, std::vector<MemoryLimit>& limits) {
  for (;; group = group.parent_path()) {
    const fs::path folder = mount / group.relative_path();
    const auto limit = ReadProcNumber(folder / files.limit);
    const auto usage = ReadProcNumber(folder / files.usage);
    // v1 spells "no limit" as a number near 2^63.
    if (limit && usage && *limit < (Bytes{1} << 60)) {
      const Bytes used = std::max<Bytes>(0, *usage - CgroupCache(folder, files.statistics_prefix));
      limits.push_back(
          {Holdable(process, *limit - used), "the cgroup's " + std::string(files.limit)});
    }
    if (group.empty() || group == group.root_path()) return;
  }
}

void AddCgroups(const HostProcess& process, const fs::path& root,
                std::vector<MemoryLimit>& limits) {
  const auto text = ReadProcText(root / "proc/self/cgroup");
  if (!text) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {  // "hierarchy:controllers:path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") AddCgroup(process, root / "sys/fs/cgroup", group, kCgroupV2, limits);
    if (controllers.find(",memory,") != std::string::npos) {
      AddCgroup(process, root / "sys/fs/cgroup/memory", group, kCgroupV1, limits);
    }
  }
}

void AddResourceLimit(const HostProcess& process, int resource, Bytes used, const char* source,
                      std::vector<MemoryLimit>& limits) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  limits.push_back({HoldableIn(process, static_cast<Bytes>(limit.rlim_cur) - used), source});
}

}  // namespace

Result<Bytes> ParseByteSize(std::string_view name, std::string_view text) {
  Bytes number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string suffix =
      Lower(std::string_view(end, static_cast<size_t>(text.data() + text.size() - end)));
  Bytes unit = suffix.empty() || suffix == "b" ? 1 : 0;
  for (const Unit& row : kUnits) {
    if (suffix == row.letter || suffix == std::string(row.letter) + "b" ||
        suffix == std::string(row.letter) + "ib") {
      unit = row.bytes;
    }
  }
  const auto bytes = CheckedMul(number, unit);
  if (error != std::errc() || unit == 0 || !bytes) {
    return InvalidArgument(
        "{}: `{}` is not a size: write a whole number of bytes, or one with K, M, G or T, such as "
        "8G",
        name, text);
  }
  return *bytes;
}

std::vector<MemoryLimit> ReadHostLimits(const HostProcess& process, const fs::path& root) {
  std::vector<MemoryLimit> limits = ReadSharedLimits(process, root);
  for (MemoryLimit& limit : ReadAddressSpaceLimits(process, root))
    limits.push_back(std::move(limit));
  return limits;
}

std::vector<MemoryLimit> ReadSharedLimits(const HostProcess& process, const fs::path& root) {
  std::vector<MemoryLimit> limits;
  AddRam(process, root, limits);
  AddCgroups(process, root, limits);
  return limits;
}

std::vector<MemoryLimit> ReadAddressSpaceLimits(const HostProcess& process, const fs::path& root) {
  std::vector<MemoryLimit> limits;
  AddOvercommit(process, root, limits);
  AddResourceLimit(process, RLIMIT_AS, process.mapped, "RLIMIT_AS (ulimit -v)", limits);
  AddResourceLimit(process, RLIMIT_DATA, process.writable, "RLIMIT_DATA (ulimit -d)", limits);
  return limits;
}

Result<std::vector<MemoryLimit>> ParseUserLimits(const std::vector<UserLimit>& user) {
  std::vector<MemoryLimit> limits;
  for (const UserLimit& limit : user) {
    if (limit.text.empty()) continue;
    ASSIGN_OR_RETURN(const Bytes bytes, ParseByteSize(limit.name, limit.text));
    limits.push_back({bytes, std::string(limit.name)});
  }
  return limits;
}

Result<std::vector<MemoryLimit>> ResolveHostBudget(std::vector<MemoryLimit> host,
                                                   const std::vector<UserLimit>& user) {
  std::vector<MemoryLimit> all = std::move(host);
  ASSIGN_OR_RETURN(const std::vector<MemoryLimit> limits, ParseUserLimits(user));
  all.insert(all.end(), limits.begin(), limits.end());
  if (all.empty())
    return Unavailable("nothing says how much memory this machine has: give --memory-limit");
  std::ranges::stable_sort(all, {}, &MemoryLimit::bytes);
  return all;
}

BufferLimit ReadHostBufferLimit(const fs::path& root) {
  constexpr std::int64_t kOtherMaps = 1024;
  constexpr std::int64_t kNoLimit = INT64_MAX;
  const auto most = ReadProcNumber(root / "proc/sys/vm/max_map_count");
  const auto maps = ReadProcText(root / "proc/self/maps");
  if (!most || !maps) return {kNoLimit, "the system"};
  const std::int64_t used = std::ranges::count(*maps, '\n');
  return {std::max<std::int64_t>(0, *most - used - kOtherMaps), "the system's vm.max_map_count"};
}

std::string DescribeLimits(std::span<const MemoryLimit> smallest_first) {
  const MemoryLimit& budget = smallest_first.front();
  std::string text = fmt::format("{} by {}", FormatBytes(budget.bytes), budget.source);
  for (const MemoryLimit& other : smallest_first.subspan(1)) {
    text += fmt::format("{}{}: {}", &other == &smallest_first[1] ? " (" : ", ", other.source,
                        FormatBytes(other.bytes));
  }
  return smallest_first.size() > 1 ? text + ")" : text;
}

}  // namespace tonnage
