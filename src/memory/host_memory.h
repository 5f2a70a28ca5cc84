// The host as a device: what limits its memory, and the budget that follows. Sources are the RAM
// that is available, the cgroup (v1 and v2, at every level up to the root), the limits on address
// space and data, strict overcommit, and what the user says; the smallest wins, and a user can only
// lower it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "memory/budget.h"
#include "memory/host_process.h"

namespace tonnage {

// "8GiB", "8G", "8g", "512M", "1073741824": a whole number and an optional binary unit. Anything
// else is InvalidArgument that begins with `name`, the option or variable that it came from.
Result<Bytes> ParseByteSize(std::string_view name, std::string_view text);

// One limit: how many bytes of anonymous memory this process may hold in all, what it holds already
// included, and where that comes from.
struct MemoryLimit {
  Bytes bytes = 0;
  std::string source;
};

// What the system allows `process` now. Of what is free, the part that the kernel will need for the
// process (page tables, stacks) and address space that holds no memory are taken off. `root` is
// where /proc and /sys are looked for.
std::vector<MemoryLimit> ReadHostLimits(const HostProcess& process,
                                        const std::filesystem::path& root = "/");
// Those among them that others lower by what they take: RAM and cgroups.
std::vector<MemoryLimit> ReadSharedLimits(const HostProcess& process,
                                          const std::filesystem::path& root = "/");
// The others, on address space. What is mapped cannot be lost to them, so what they say before a
// load stays true.
std::vector<MemoryLimit> ReadAddressSpaceLimits(const HostProcess& process,
                                                const std::filesystem::path& root = "/");

// What the user's limits say. Junk is an error that names the option or variable.
Result<std::vector<MemoryLimit>> ParseUserLimits(const std::vector<UserLimit>& user);

// All limits, the smallest first: that one is the budget. There is one at least. Junk in a user's
// limit is an error that names it.
Result<std::vector<MemoryLimit>> ResolveHostBudget(std::vector<MemoryLimit> host,
                                                   const std::vector<UserLimit>& user);

// How many buffers the host can map beside what this process has mapped already and will map for
// threads and files.
BufferLimit ReadHostBufferLimit(const std::filesystem::path& root = "/");

// "8.0 GiB by --memory-limit (the RAM that is available: 22.1 GiB)".
std::string DescribeLimits(std::span<const MemoryLimit> smallest_first);

}  // namespace tonnage
