// Reading the small text files of /proc and /sys.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tonnage {

std::optional<std::string> ReadProcText(const std::filesystem::path& path);
// The first number of a file; nothing when there is none ("max").
std::optional<Bytes> ReadProcNumber(const std::filesystem::path& path);
// The value of "key: 123 kB" or "key 123" in a file of such lines, as written there.
std::optional<Bytes> ReadProcField(const std::filesystem::path& path, std::string_view key);

}  // namespace tonnage
