// How many threads a computation should use here.
#pragma once

#include <filesystem>

namespace tonnage {

// The processors that this process may run on, and no more than its cgroup's CPU quota pays for; at
// least 1. `root` is where /proc and /sys are looked for.
int UsableCores(const std::filesystem::path& root = "/");

}  // namespace tonnage
