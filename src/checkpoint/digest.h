// SHA-256 of a file, for checking what was downloaded.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace tonnage {

// Lower-case hexadecimal, 64 characters.
Result<std::string> FileSha256(const std::filesystem::path& path);

}  // namespace tonnage
