#include "cli/interrupt.h"

namespace tonnage::cli {
namespace {

// A signal handler can only reach what is global.
std::atomic<bool> interrupted{false};

}  // namespace

InterruptFlag::InterruptFlag() {
  interrupted.store(false);
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted.store(true); };
  action.sa_flags = SA_RESTART | SA_RESETHAND;  // a second ctrl-C ends the process as ever
  sigaction(SIGINT, &action, &before_);
}

InterruptFlag::~InterruptFlag() { sigaction(SIGINT, &before_, nullptr); }

const std::atomic<bool>& InterruptFlag::flag() const { return interrupted; }

}  // namespace tonnage::cli
