#include "checkpoint/hub/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace tonnage::hub {
namespace {

std::optional<std::int64_t> LeadingNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

bool IsPassing(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

std::optional<std::int64_t> AskedDelay(const HttpHead& head, std::int64_t now) {
  if (const std::string after(head.Header("retry-after")); !after.empty()) {
    if (const auto seconds = LeadingNumber(after)) return seconds;
    const std::int64_t date = curl_getdate(after.c_str(), nullptr);
    if (date >= 0) return std::max<std::int64_t>(0, date - now);
  }
  // `"api";r=0;t=55`: t is the seconds until the quota is whole again.
  const std::string_view limit = head.Header("ratelimit");
  const size_t at = limit.find(";t=");
  return at == std::string_view::npos ? std::nullopt : LeadingNumber(limit.substr(at + 3));
}

std::optional<std::int64_t> Backoff::Next(Bytes progress,
                                          std::optional<std::int64_t> asked_seconds) {
  constexpr std::int64_t kFirstMs = 500;
  constexpr std::int64_t kLongestMs = 8000;
  if (progress >= kProgressBytes) failures_ = 0;
  if (++failures_ >= kMostTries) return std::nullopt;
  if (asked_seconds && *asked_seconds > kLongestAskedSeconds) return std::nullopt;
  const std::int64_t own = std::min(kLongestMs, kFirstMs << (failures_ - 1));
  return std::max(own, asked_seconds.value_or(0) * 1000);
}

}  // namespace tonnage::hub
