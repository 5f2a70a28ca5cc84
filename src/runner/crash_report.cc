#include "runner/crash_report.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tonnage {
namespace {

// A thread that is asked for its stack writes it itself.
constexpr int kThreadSignal = SIGUSR2;
constexpr int kFrames = 64;
constexpr int kMostThreads = 4096;
constexpr int kFaults[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
// How long one thread may take for its stack, and the whole report: it must not outlast what
// clients wait for.
constexpr int kThreadMs = 100;
constexpr unsigned kReportSeconds = 1;

// A signal handler can only reach what is global.
std::atomic<const Ledger*> ledger{nullptr};
std::atomic<const StepMark*> mark{nullptr};
std::atomic<bool> reporting{false};
std::atomic<int> stacks_written{0};

// Writes pieces of a line with nothing but write(2).
class Line {
 public:
  Line& operator<<(std::string_view text) {
    const std::size_t count = std::min(text.size(), sizeof(buffer_) - size_);
    std::memcpy(buffer_ + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  Line& operator<<(std::int64_t number) { return Number(number, 10); }
  Line& Hex(std::uint64_t number) {
    *this << "0x";
    return Number(number, 16);
  }
  ~Line() {
    buffer_[size_] = '\n';
    (void)!write(STDERR_FILENO, buffer_, size_ + 1);
  }

 private:
  template <typename T>
  Line& Number(T number, int base) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number, base).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  std::size_t size_ = 0;
  char buffer_[256 + 1];
};

pid_t ThreadId() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void WriteOwnStack() {
  Line() << "thread " << ThreadId() << ":";
  void* frames[kFrames];
  backtrace_symbols_fd(frames, backtrace(frames, kFrames), STDERR_FILENO);
}

void OnThreadSignal(int) {
  const int error_before = errno;
  WriteOwnStack();
  stacks_written.fetch_add(1);
  errno = error_before;
}

// Asks the thread, and waits until it has answered, so that stacks do not mix.
void AskForStack(pid_t process, pid_t thread) {
  const int before = stacks_written.load();
  if (syscall(SYS_tgkill, process, thread, kThreadSignal) != 0) return;
  for (int ms = 0; ms < kThreadMs && stacks_written.load() == before; ++ms) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&pause, nullptr);
  }
  if (stacks_written.load() == before) Line() << "thread " << thread << ": does not answer";
}

// getdents64's records, as the kernel writes them.
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[];
};

void WriteOtherStacks() {
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  const pid_t process = getpid(), self = ThreadId();
  alignas(Entry) char block[4096];
  int threads = 0;
  for (long size; (size = syscall(SYS_getdents64, folder, block, sizeof(block))) > 0;) {
    for (long at = 0; at < size && threads < kMostThreads;) {
      const auto* entry = reinterpret_cast<const Entry*>(block + at);
      at += entry->length;
      const pid_t thread = std::atoi(entry->name);  // 0: "." and ".."
      if (thread <= 0 || thread == self) continue;
      AskForStack(process, thread);
      ++threads;
    }
  }
  close(folder);
}

void WriteFacts() {
  if (const Ledger* held = ledger.load()) {
    Line line;
    line << "memory held:";
    for (int owner = 0; owner < kOwnerCount; ++owner) {
      line << " " << OwnerName(static_cast<Owner>(owner)) << " "
           << held->Of(static_cast<Owner>(owner));
    }
    line << " peak " << held->Peak();
  }
  const StepMark* at = mark.load();
  if (at == nullptr) {
    Line() << "no step: the model is not loaded";
  } else {
    Line() << (at->computing.load() ? "in step " : "after step ")
           << static_cast<std::int64_t>(at->step.load()) << ": " << at->rows.load() << " rows of "
           << at->requests.load() << " requests";
  }
}

void OnStackSignal(int) {
  const int error_before = errno;
  if (!reporting.exchange(true)) {
    Line() << "stacks of process " << getpid();
    WriteOwnStack();
    WriteOtherStacks();
    WriteFacts();
    reporting.store(false);
  }
  errno = error_before;
}

// The handler was taken away when it was called (SA_RESETHAND), so that the signal, sent again,
// ends the process when this returns.
void OnFault(int signal, siginfo_t* info, void*) {
  if (reporting.exchange(true)) {
    // Another thread's report is under way; it ends the process.
    const timespec pause{.tv_sec = kReportSeconds + 1, .tv_nsec = 0};
    nanosleep(&pause, nullptr);
  } else {
    alarm(kReportSeconds);  // whatever a report of a broken process runs into, it ends
    Line() << "crash report of process " << getpid();
    WriteOwnStack();
    WriteOtherStacks();
    WriteFacts();
    const char* name = sigabbrev_np(signal);
    Line line;
    line << "died of SIG" << (name == nullptr ? "?" : name) << " in thread " << ThreadId();
    if (info->si_code > 0) {
      line << " at address ";
      line.Hex(reinterpret_cast<std::uintptr_t>(info->si_addr));
    } else {
      line << ", sent by process " << info->si_pid;
    }
  }
  syscall(SYS_tgkill, getpid(), ThreadId(), signal);
}

}  // namespace

void InstallCrashHandlers() {
  // The first call loads what unwinds stacks, which a handler may not.
  void* frames[1];
  backtrace(frames, 1);
  // A stack that overflowed has no room for a handler: the first thread gets another.
  static char spare_stack[64 << 10];
  const stack_t spare{.ss_sp = spare_stack, .ss_flags = 0, .ss_size = sizeof(spare_stack)};
  sigaltstack(&spare, nullptr);
  struct sigaction action {};
  sigfillset(&action.sa_mask);
  sigdelset(&action.sa_mask, SIGALRM);
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int fault : kFaults) sigaction(fault, &action, nullptr);
  action.sa_flags = SA_RESTART;
  action.sa_handler = OnThreadSignal;
  sigaction(kThreadSignal, &action, nullptr);
  sigdelset(&action.sa_mask, kThreadSignal);
  action.sa_handler = OnStackSignal;
  sigaction(kStackSignal, &action, nullptr);
}

void SetCrashFacts(const Ledger* held, const StepMark* at) {
  ledger.store(held);
  mark.store(at);
}

}  // namespace tonnage
