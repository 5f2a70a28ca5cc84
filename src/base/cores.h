// How many threads a computation should use here, and where they may run.
#pragma once

#include <filesystem>
#include <vector>

namespace tonnage {

// The processors that this process may run on, and no more than its cgroup's CPU quota pays for; at
// least 1. `root` is where /proc and /sys are looked for.
int UsableCores(const std::filesystem::path& root = "/");

// The numbers of the processors that this process may run on, rising.
std::vector<int> AllowedProcessors();

// Keeps the calling thread on one processor; false where the system refuses.
bool PinThread(int processor);

}  // namespace tonnage
