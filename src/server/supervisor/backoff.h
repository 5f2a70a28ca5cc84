// How long a model's runner is left alone after it died: not at all the first time that it dies
// while serving, then twice as long each time, up to five minutes. A value that knows no clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace tonnage {

class Backoff {
 public:
  using Seconds = std::chrono::seconds;
  static constexpr Seconds kFirst{1};
  static constexpr Seconds kMost{300};
  // So many failures in a row, and the runner is only started again when somebody asks for it.
  static constexpr int kGiveUp = 10;

  // Notes a failure, and answers how long to wait.
  Seconds Failed(bool while_loading) {
    ++failures_;
    const int doublings = failures_ - (while_loading ? 1 : 2);
    if (doublings < 0) return Seconds(0);
    return doublings < 9 ? std::min(kMost, kFirst * (1 << doublings)) : kMost;
  }
  void Succeeded() { failures_ = 0; }
  bool gives_up() const { return failures_ >= kGiveUp; }

 private:
  int failures_ = 0;  // in a row
};

}  // namespace tonnage
