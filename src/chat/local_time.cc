#include "chat/local_time.h"

#include <charconv>
#include <chrono>
#include <ctime>

namespace tonnage::chat {
namespace {

// Reads exactly `digits` digits at `*text`, which moves past them.
bool ReadNumber(std::string_view* text, std::size_t digits, int* value) {
  if (text->size() < digits) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + digits, *value);
  if (error != std::errc() || end != text->data() + digits || *value < 0) return false;
  text->remove_prefix(digits);
  return true;
}

bool Skip(std::string_view* text, std::string_view any_of) {
  if (text->empty() || any_of.find(text->front()) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

bool ReadTime(std::string_view* text, LocalTime* time) {
  if (!ReadNumber(text, 2, &time->hour) || !Skip(text, ":") ||
      !ReadNumber(text, 2, &time->minute)) {
    return false;
  }
  if (Skip(text, ":") && !ReadNumber(text, 2, &time->second)) return false;
  if (Skip(text, ".,")) {
    int scale = 100'000;
    for (; !text->empty() && text->front() >= '0' && text->front() <= '9'; scale /= 10) {
      time->microsecond += (text->front() - '0') * scale;
      text->remove_prefix(1);
    }
  }
  return true;
}

std::tm ToTm(const LocalTime& time) {
  const std::chrono::year_month_day date(std::chrono::year(time.year),
                                         std::chrono::month(static_cast<unsigned>(time.month)),
                                         std::chrono::day(static_cast<unsigned>(time.day)));
  const std::chrono::sys_days days(date);
  std::tm tm{};
  tm.tm_year = time.year - 1900;
  tm.tm_mon = time.month - 1;
  tm.tm_mday = time.day;
  tm.tm_hour = time.hour;
  tm.tm_min = time.minute;
  tm.tm_sec = time.second;
  tm.tm_wday = static_cast<int>(std::chrono::weekday(days).c_encoding());
  tm.tm_yday = static_cast<int>((days - std::chrono::sys_days(date.year() / 1 / 1)).count());
  tm.tm_isdst = -1;
  return tm;
}

}  // namespace

Result<LocalTime> ParseLocalTime(std::string_view text) {
  LocalTime time;
  std::string_view rest = text;
  bool good = ReadNumber(&rest, 4, &time.year) && Skip(&rest, "-") &&
              ReadNumber(&rest, 2, &time.month) && Skip(&rest, "-") &&
              ReadNumber(&rest, 2, &time.day);
  if (good && Skip(&rest, "T ")) good = ReadTime(&rest, &time);
  const std::chrono::year_month_day date(std::chrono::year(time.year),
                                         std::chrono::month(static_cast<unsigned>(time.month)),
                                         std::chrono::day(static_cast<unsigned>(time.day)));
  good = good && rest.empty() && date.ok() && time.year >= 1 && time.hour < 24 &&
         time.minute < 60 && time.second < 60;
  if (!good) return InvalidArgument("'{}' is no time such as 2026-11-29T16:20:00", text);
  return time;
}

LocalTime CurrentLocalTime() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm tm{};
  localtime_r(&seconds, &tm);
  const auto fraction = now - std::chrono::system_clock::from_time_t(seconds);
  return {.year = tm.tm_year + 1900,
          .month = tm.tm_mon + 1,
          .day = tm.tm_mday,
          .hour = tm.tm_hour,
          .minute = tm.tm_min,
          .second = tm.tm_sec,
          .microsecond = static_cast<int>(
              std::chrono::duration_cast<std::chrono::microseconds>(fraction).count())};
}

std::string FormatLocalTime(const LocalTime& time, std::string_view format) {
  const std::tm tm = ToTm(time);
  std::string result;
  for (std::size_t i = 0; i < format.size();) {
    const std::size_t percent = std::min(format.find('%', i), format.size());
    result.append(format.substr(i, percent - i));
    i = percent;
    if (i >= format.size()) break;
    // One directive with its glibc flags and width, so that no result can be large.
    std::size_t end = i + 1;
    while (end < format.size() &&
           std::string_view("_-0^#EO").find(format[end]) != std::string_view::npos)
      ++end;
    if (end >= format.size()) {
      result.append(format.substr(i));
      break;
    }
    const char directive = format[end];
    if (directive == 'f' && end == i + 1) {
      result += fmt::format("{:06}", time.microsecond);
    } else if ((directive == 'z' || directive == 'Z') && end == i + 1) {
      // A time without a zone has neither.
    } else {
      const std::string one(format.substr(i, end + 1 - i));
      char buffer[256];
      result.append(buffer, std::strftime(buffer, sizeof buffer, one.c_str(), &tm));
    }
    i = end + 1;
  }
  return result;
}

}  // namespace tonnage::chat
