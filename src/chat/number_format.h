// Python's format specifications, "[[fill]align][sign][#][0][width][grouping][.precision][type]",
// and the numbers of printf-style formatting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chat/renderer.h"

namespace tonnage::chat {

struct FormatSpec {
  std::string fill = " ";
  char align = 0;  // < > ^ = or 0 where none is given
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  std::int64_t width = -1;
  char grouping = 0;  // , or _
  std::int64_t precision = -1;
  char type = 0;
};

// False, and failed, for a malformed one.
bool ParseFormatSpec(Renderer& renderer, std::string_view text, FormatSpec* spec);

// format(value, spec), appended.
bool AppendFormatted(Renderer& renderer, const Value& value, std::string_view spec,
                     std::string* out);

// Digits without a sign, as printf's e, f and g write them; `type` may be E, F or G too.
std::string FloatDigits(double magnitude, char type, int precision, bool alternate);
std::string IntegerDigits(std::uint64_t magnitude, int base, bool upper);

// Pads `text` to `width` code points on the side that `align` leaves free.
void AppendPadded(std::string_view text, std::int64_t width, std::string_view fill, char align,
                  std::string* out);

}  // namespace tonnage::chat
