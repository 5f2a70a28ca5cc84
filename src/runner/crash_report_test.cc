#include "runner/crash_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tonnage {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::KilledBySignal;

class CrashReport : public testing::Test {
 protected:
  CrashReport() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // What the report tells of, and a thread that waits for ever.
  void Prepare() {
    ledger_.Add(Owner::kWeights, 12345);
    mark_.step.store(77);
    mark_.rows.store(5);
    mark_.requests.store(2);
    mark_.computing.store(true);
    InstallCrashHandlers();
    SetCrashFacts(&ledger_, &mark_);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable begun;
    bool running = false;
    std::thread([&, this] {
      {
        std::lock_guard inner(mutex);
        running = true;
      }
      begun.notify_one();
      std::unique_lock idle(idle_mutex_);
      idle_.wait(idle, [] { return false; });
    }).detach();
    begun.wait(lock, [&] { return running; });
  }

  Ledger ledger_;
  StepMark mark_;
  std::mutex idle_mutex_;
  std::condition_variable idle_;
};

// Threads, memory, the step and the signal, and then the end that the signal has by itself.
TEST_F(CrashReport, TellsEverythingAndDiesOfTheSignal) {
  const auto report = AllOf(
      HasSubstr("crash report of process"),
      testing::ContainsRegex("thread [0-9]+:(.|\n)*thread [0-9]+:"), HasSubstr("weights 12345"),
      HasSubstr("in step 77: 5 rows of 2 requests"), HasSubstr("died of SIGABRT in thread"));
  EXPECT_EXIT(
      {
        Prepare();
        std::abort();
      },
      KilledBySignal(SIGABRT), report);
}

TEST_F(CrashReport, AFaultHasItsAddress) {
  EXPECT_EXIT(
      {
        Prepare();
        volatile std::uintptr_t address = 0x10;
        *reinterpret_cast<volatile int*>(address) = 1;
      },
      KilledBySignal(SIGSEGV), AllOf(HasSubstr("died of SIGSEGV"), HasSubstr("at address 0x10")));
}

TEST_F(CrashReport, ASignalFromOutsideHasItsSender) {
  EXPECT_EXIT(
      {
        Prepare();
        kill(getpid(), SIGSEGV);
        for (;;) pause();
      },
      KilledBySignal(SIGSEGV), HasSubstr("sent by process"));
}

TEST_F(CrashReport, StacksCanBeAskedFor) {
  EXPECT_EXIT(
      {
        Prepare();
        raise(kStackSignal);
        raise(kStackSignal);
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), AllOf(HasSubstr("stacks of process"), HasSubstr("in step 77")));
}

}  // namespace
}  // namespace tonnage
