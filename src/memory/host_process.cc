#include "memory/host_process.h"

#include <pthread.h>

#include "memory/proc_file.h"

namespace tonnage {
namespace {

// With the guard page before it.
Bytes ThreadStackBytes() {
  pthread_attr_t attributes;
  size_t stack = 0, guard = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return 0;
  pthread_attr_getstacksize(&attributes, &stack);
  pthread_attr_getguardsize(&attributes, &guard);
  pthread_attr_destroy(&attributes);
  return static_cast<Bytes>(stack + guard);
}

}  // namespace

HostProcess ReadHostProcess(const std::filesystem::path& root) {
  const std::filesystem::path self = root / "proc/self";
  const auto kilobytes = [](const std::filesystem::path& path, std::string_view key) {
    return ReadProcField(path, key).value_or(0) * kKiB;
  };
  HostProcess process;
  // The roll-up walks the page tables and is exact. Counters in `status` lag behind on each core.
  process.anonymous =
      kilobytes(self / "smaps_rollup", "Anonymous:") + kilobytes(self / "smaps_rollup", "Swap:");
  if (process.anonymous == 0) process.anonymous = kilobytes(self / "status", "RssAnon:");
  process.writable = kilobytes(self / "status", "VmData:");
  process.mapped = kilobytes(self / "status", "VmSize:");
  process.thread_stack_bytes = ThreadStackBytes();
  return process;
}

}  // namespace tonnage
