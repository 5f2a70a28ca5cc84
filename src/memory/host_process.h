// What this process holds of the host's memory, as the kernel counts it. A value that is read once
// and handed on, so that whatever follows from it can be tested with any other.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/bytes.h"

namespace tonnage {

struct HostProcess {
  Bytes anonymous = 0;  // resident and backed by no file: heap, stacks, buffers, data written to
  Bytes writable = 0;   // address space that is private and writable: what RLIMIT_DATA limits
  Bytes mapped = 0;     // address space, mapped files included: what RLIMIT_AS limits
  Bytes thread_stack_bytes = 0;  // address space of one more thread

  // What is to come, which whoever reads limits fills in.
  int coming_threads = 0;
  Bytes coming_file_bytes = 0;  // of mapped files that will be read
};

// `root` is where /proc is looked for. What it does not say is 0.
HostProcess ReadHostProcess(const std::filesystem::path& root = "/");
// Of another process, as far as the system lets it be seen.
Bytes ReadAnonymousBytes(std::int64_t process_id, const std::filesystem::path& root = "/");

// The same from counters that may lag a few pages behind on each core: quick however much memory
// there is, for who looks often.
HostProcess GlanceAtHostProcess(const std::filesystem::path& root = "/");

}  // namespace tonnage
