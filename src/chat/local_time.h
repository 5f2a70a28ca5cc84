// A wall-clock time without a zone, as strftime_now() sees it. The clock is passed in: only the
// command line reads it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tonnage::chat {

struct LocalTime {
  int year = 1970;
  int month = 1;  // 1..12
  int day = 1;    // 1..31
  int hour = 0;
  int minute = 0;
  int second = 0;
  int microsecond = 0;
};

// Reads "2026-11-29", "2026-11-29T16:20", "2026-11-29 16:20:05" or "2026-11-29T16:20:05.250".
Result<LocalTime> ParseLocalTime(std::string_view text);

// The time on this machine's clock in its zone.
LocalTime CurrentLocalTime();

// What strftime gives in the C locale; %f is the microseconds, %z and %Z are empty.
std::string FormatLocalTime(const LocalTime& time, std::string_view format);

}  // namespace tonnage::chat
