// A line of progress in bytes that redraws itself on standard error: a bar, how much, how fast, how
// long still. It shows nothing when standard error is no terminal, and leaves nothing behind. One
// thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tonnage::cli {

// How fast something moves, smoothed over the last few seconds, so that a pause or a resumed
// beginning does not spoil the estimate for long.
class RateMeter {
 public:
  // `done` bytes at `seconds` of any steady clock.
  void Add(double seconds, Bytes done);
  // Nothing until enough time has passed to say.
  std::optional<double> bytes_per_second() const { return rate_; }

 private:
  struct Sample {
    double seconds;
    Bytes done;
  };
  std::optional<Sample> last_;
  std::optional<double> rate_;
};

// "42 s", "3 min 20 s", "2 h 05 min".
std::string FormatDuration(double seconds);

// "pulling [====      ]  42%  1.2 GiB of 2.9 GiB  35.1 MiB/s  48 s left".
std::string ProgressText(std::string_view label, Bytes done, Bytes total,
                         std::optional<double> bytes_per_second);

class ProgressLine {
 public:
  ProgressLine(std::string label, bool shown);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(Bytes done, Bytes total);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool shown_;
  RateMeter rate_;
  std::optional<Clock::time_point> drawn_;
};

}  // namespace tonnage::cli
