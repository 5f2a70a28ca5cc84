#include "base/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace tonnage {

namespace fs = std::filesystem;

namespace {

int AllowedProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Whole processors that "quota period" (cgroup v2's cpu.max) pays for; 0 when there is no limit.
int QuotaProcessors(const fs::path& file) {
  std::ifstream stream(file);
  double quota = 0;
  double period = 0;
  if (!(stream >> quota >> period) || period <= 0) return 0;  // "max 100000"
  return std::max(1, static_cast<int>(quota / period));
}

// The path of our cgroup (v2), from a line "0::/path".
std::string Group(const fs::path& root) {
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("0::/")) return line.substr(4);
  }
  return {};
}

}  // namespace

int UsableCores(const fs::path& root) {
  int cores = std::max(1, AllowedProcessors());
  const fs::path mount = root / "sys/fs/cgroup";
  for (fs::path group = Group(root);; group = group.parent_path()) {
    if (const int quota = QuotaProcessors(mount / group / "cpu.max"); quota > 0)
      cores = std::min(cores, quota);
    if (group.empty()) return cores;
  }
}

}  // namespace tonnage
