// While it lives, ctrl-C sets a flag instead of ending the process, so that what is under way can
// stop by itself and say what comes next. One at a time.
#pragma once

#include <atomic>
#include <csignal>

namespace tonnage::cli {

class InterruptFlag {
 public:
  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;

  const std::atomic<bool>& flag() const;

 private:
  struct sigaction before_ {};
};

}  // namespace tonnage::cli
