#include "cli/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace tonnage::cli {
namespace {

// A signal handler can only reach what is global: where it says that it was called.
std::atomic<bool> interrupted{false};
std::atomic<int> stop_event{-1};

void OnStop(int) {
  const int error_before = errno;
  const std::uint64_t one = 1;
  (void)!write(stop_event.load(), &one, sizeof(one));
  errno = error_before;
}

}  // namespace

InterruptFlag::InterruptFlag() {
  interrupted.store(false);
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted.store(true); };
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigaction(SIGINT, &action, &before_);
}

InterruptFlag::~InterruptFlag() { sigaction(SIGINT, &before_, nullptr); }

const std::atomic<bool>& InterruptFlag::flag() const { return interrupted; }

StopSignals::StopSignals() : event_(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {
  CHECK_GE(event_, 0);
  stop_event.store(event_);
  struct sigaction action {};
  action.sa_handler = OnStop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, &term_before_);
  sigaction(SIGINT, &action, &int_before_);
}

StopSignals::~StopSignals() {
  sigaction(SIGTERM, &term_before_, nullptr);
  sigaction(SIGINT, &int_before_, nullptr);
  close(event_);
}

bool StopSignals::Wait(int timeout_ms) const {
  pollfd ready{.fd = event_, .events = POLLIN, .revents = 0};
  int count = 0;
  do {
    count = poll(&ready, 1, timeout_ms);
  } while (count < 0 && errno == EINTR);
  if (count != 1) return false;
  std::uint64_t one = 0;
  return read(event_, &one, sizeof(one)) == sizeof(one);
}

}  // namespace tonnage::cli
