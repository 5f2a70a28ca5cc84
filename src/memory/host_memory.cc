#include "memory/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

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

std::optional<std::string> ReadText(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first number of a file; nothing when there is none ("max").
std::optional<Bytes> ReadNumber(const fs::path& path) {
  const auto text = ReadText(path);
  Bytes number = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

// The value of "key: 123 kB" or "key 123" in a file of such lines, as written there.
std::optional<Bytes> ReadField(const fs::path& path, std::string_view key) {
  const auto text = ReadText(path);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  std::string word;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Bytes number = 0;
    if (words >> word && word == key && words >> number) return number;
  }
  return std::nullopt;
}

void AddRam(const fs::path& root, std::vector<MemoryLimit>& limits) {
  const fs::path meminfo = root / "proc/meminfo";
  if (const auto available = ReadField(meminfo, "MemAvailable:")) {
    limits.push_back({*available * kKiB, "the RAM that is available"});
  }
  if (ReadNumber(root / "proc/sys/vm/overcommit_memory") == 2) {
    const auto limit = ReadField(meminfo, "CommitLimit:");
    const auto committed = ReadField(meminfo, "Committed_AS:");
    if (limit && committed) {
      limits.push_back({std::max<Bytes>(0, (*limit - *committed) * kKiB), "strict overcommit"});
    }
  }
}

// One level of a cgroup hierarchy. Cache that the kernel would drop first does not count as used.
struct CgroupFiles {
  const char* limit;
  const char* usage;
  const char* reclaimable;
};
constexpr CgroupFiles kCgroupV2 = {"memory.max", "memory.current", "inactive_file"};
constexpr CgroupFiles kCgroupV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                   "total_inactive_file"};

void AddCgroup(const fs::path& mount, fs::path group, const CgroupFiles& files,
               std::vector<MemoryLimit>& limits) {
  for (;; group = group.parent_path()) {
    const fs::path folder = mount / group.relative_path();
    const auto limit = ReadNumber(folder / files.limit);
    const auto usage = ReadNumber(folder / files.usage);
    // v1 spells "no limit" as a number near 2^63.
    if (limit && usage && *limit < (Bytes{1} << 60)) {
      const Bytes reclaimable = ReadField(folder / "memory.stat", files.reclaimable).value_or(0);
      limits.push_back({std::max<Bytes>(0, *limit - std::max<Bytes>(0, *usage - reclaimable)),
                        "the cgroup's " + std::string(files.limit)});
    }
    if (group.empty() || group == group.root_path()) return;
  }
}

void AddCgroups(const fs::path& root, std::vector<MemoryLimit>& limits) {
  const auto text = ReadText(root / "proc/self/cgroup");
  if (!text) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {  // "hierarchy:controllers:path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") AddCgroup(root / "sys/fs/cgroup", group, kCgroupV2, limits);
    if (controllers.find(",memory,") != std::string::npos) {
      AddCgroup(root / "sys/fs/cgroup/memory", group, kCgroupV1, limits);
    }
  }
}

void AddAddressSpace(const fs::path& root, std::vector<MemoryLimit>& limits) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const Bytes used = ReadNumber(root / "proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  limits.push_back(
      {std::max<Bytes>(0, static_cast<Bytes>(limit.rlim_cur) - used), "RLIMIT_AS (ulimit -v)"});
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

std::vector<MemoryLimit> ReadHostLimits(const fs::path& root) {
  std::vector<MemoryLimit> limits;
  AddRam(root, limits);
  AddCgroups(root, limits);
  AddAddressSpace(root, limits);
  return limits;
}

Result<MemoryLimit> ResolveHostBudget(const std::vector<MemoryLimit>& host,
                                      const std::vector<UserLimit>& user) {
  std::vector<MemoryLimit> all = host;
  for (const UserLimit& limit : user) {
    if (limit.text.empty()) continue;
    ASSIGN_OR_RETURN(const Bytes bytes, ParseByteSize(limit.name, limit.text));
    all.push_back({bytes, std::string(limit.name)});
  }
  if (all.empty())
    return Unavailable("nothing says how much memory this machine has: give --memory-limit");
  return *std::min_element(all.begin(), all.end(), [](const MemoryLimit& a, const MemoryLimit& b) {
    return a.bytes < b.bytes;
  });
}

}  // namespace tonnage
