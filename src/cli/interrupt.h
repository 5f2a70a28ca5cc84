// While they live, signals do not end the process but are told to it, so that what is under way can
// stop by itself. One of each at a time.
#pragma once

#include <atomic>
#include <csignal>

namespace tonnage::cli {

// Ctrl-C sets a flag; a second one ends the process as ever.
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

// SIGTERM and SIGINT are counted.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Whether one came, waiting so long for it (-1: as long as it takes). Takes it from the count.
  bool Wait(int timeout_ms) const;

 private:
  const int event_;
  struct sigaction term_before_ {};
  struct sigaction int_before_ {};
};

}  // namespace tonnage::cli
