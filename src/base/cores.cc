#include "base/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace tonnage {

namespace fs = std::filesystem;

namespace {

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

std::vector<int> AllowedProcessors() {
  std::vector<int> processors;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) processors.push_back(i);
    }
  } else {  // more than a set can name
    const auto count = static_cast<int>(std::thread::hardware_concurrency());
    for (int i = 0; i < count; ++i) processors.push_back(i);
  }
  return processors;
}

bool PinThread(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

int UsableCores(const fs::path& root) {
  int cores = std::max(1, static_cast<int>(AllowedProcessors().size()));
  const fs::path mount = root / "sys/fs/cgroup";
  for (fs::path group = Group(root);; group = group.parent_path()) {
    if (const int quota = QuotaProcessors(mount / group / "cpu.max"); quota > 0)
      cores = std::min(cores, quota);
    if (group.empty()) return cores;
  }
}

}  // namespace tonnage
