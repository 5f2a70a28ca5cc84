// When to ask a hub again, and when to give up: pure arithmetic, so that it can be tested without
// waiting.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "checkpoint/hub/http.h"

namespace tonnage::hub {

// Whether another try may go better: too many requests, a server that is overloaded or restarts.
bool IsPassing(int status);

// The seconds that an answer asks us to wait, by Retry-After (seconds or a date) or by the hub's
// RateLimit header; nothing when it does not say. `now` is seconds since 1970.
std::optional<std::int64_t> AskedDelay(const HttpHead& head, std::int64_t now);

// Counts failures in a row. A failure after real progress is the first of a new row, so that a
// large file may survive many cuts, while a server that trickles is given up.
class Backoff {
 public:
  static constexpr int kMostTries = 6;
  static constexpr Bytes kProgressBytes = 256 * kKiB;
  static constexpr std::int64_t kLongestAskedSeconds = 300;

  // After a failed try that brought `progress` bytes: the milliseconds to wait before the next, or
  // nothing when it is time to give up.
  std::optional<std::int64_t> Next(Bytes progress, std::optional<std::int64_t> asked_seconds);

 private:
  int failures_ = 0;
};

}  // namespace tonnage::hub
