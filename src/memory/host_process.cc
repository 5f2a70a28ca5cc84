#include "memory/host_process.h"

#include <pthread.h>

#include <string>

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

Bytes Field(const std::filesystem::path& path, std::string_view key) {
  return ReadProcField(path, key).value_or(0) * kKiB;
}

Bytes AnonymousByCounters(const std::filesystem::path& process) {
  return Field(process / "status", "RssAnon:") + Field(process / "status", "VmSwap:");
}

// The roll-up walks the page tables and is exact. Counters lag behind on each core.
Bytes Anonymous(const std::filesystem::path& process) {
  const std::filesystem::path rollup = process / "smaps_rollup";
  const Bytes bytes = Field(rollup, "Anonymous:") + Field(rollup, "Swap:");
  return bytes > 0 ? bytes : AnonymousByCounters(process);
}

}  // namespace

Bytes ReadAnonymousBytes(std::int64_t process_id, const std::filesystem::path& root) {
  return Anonymous(root / "proc" / std::to_string(process_id));
}

HostProcess GlanceAtHostProcess(const std::filesystem::path& root) {
  const std::filesystem::path self = root / "proc/self";
  const std::filesystem::path status = self / "status";
  return {.anonymous = AnonymousByCounters(self),
          .writable = Field(status, "VmData:"),
          .mapped = Field(status, "VmSize:"),
          .thread_stack_bytes = ThreadStackBytes()};
}

HostProcess ReadHostProcess(const std::filesystem::path& root) {
  HostProcess process = GlanceAtHostProcess(root);
  process.anonymous = Anonymous(root / "proc/self");
  return process;
}

}  // namespace tonnage
