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

Bytes ReadKilobytes(const std::filesystem::path& path, std::string_view key) {
  return ReadProcField(path, key).value_or(0) * kKiB;
}

}  // namespace

HostProcess GlanceAtHostProcess(const std::filesystem::path& root) {
  const std::filesystem::path status = root / "proc/self/status";
  return {.anonymous = ReadKilobytes(status, "RssAnon:") + ReadKilobytes(status, "VmSwap:"),
          .writable = ReadKilobytes(status, "VmData:"),
          .mapped = ReadKilobytes(status, "VmSize:"),
          .thread_stack_bytes = ThreadStackBytes()};
}

HostProcess ReadHostProcess(const std::filesystem::path& root) {
  const std::filesystem::path rollup = root / "proc/self/smaps_rollup";
  HostProcess process = GlanceAtHostProcess(root);
  // The roll-up walks the page tables and is exact.
  const Bytes exact = ReadKilobytes(rollup, "Anonymous:") + ReadKilobytes(rollup, "Swap:");
  if (exact > 0) process.anonymous = exact;
  return process;
}

}  // namespace tonnage
