// The Unicode normalization forms, at the Unicode version of the reference (its tables are in
// unicode_tables.inc). Linear in the text's length up to the sorting of a run of combining marks.
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tonnage {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// The text in that form, or nothing where it is in it already.
std::optional<std::string> Normalized(NormalForm form, std::string_view text);

}  // namespace tonnage
