#include "server/supervisor/runner_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "runner/crash_report.h"

namespace tonnage {
namespace {

constexpr off_t kMostLogBytes = 16 << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Error SystemError(std::string_view what) {
  return Unavailable("{}: {}", what, std::strerror(errno));
}

// Everything that the child needs, prepared before the fork: after it nothing may allocate.
struct Child {
  const char* program;
  char* const* arguments;
  int socket;
  int log;
  int null;
  pid_t parent;
};

// Between fork and exec. What the server has open is closed: a client's connection that a runner
// also held would not end when the server closes it.
[[noreturn]] void BecomeRunner(const Child& child) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) _exit(127);
  setpgid(0, 0);  // an interrupt from the terminal is the server's business
  dup2(child.null, STDIN_FILENO);
  dup2(child.log, STDOUT_FILENO);
  dup2(child.log, STDERR_FILENO);
  if (child.socket == kRunnerSocket) {
    fcntl(kRunnerSocket, F_SETFD, 0);
  } else {
    dup2(child.socket, kRunnerSocket);
  }
  if (close_range(kRunnerSocket + 1, ~0u, 0) != 0) {
    for (int fd = kRunnerSocket + 1; fd < 65536; ++fd) close(fd);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core = {0, 0};  // gigabytes of weights, while clients wait; there is a report
  setrlimit(RLIMIT_CORE, &no_core);
  execv(child.program, child.arguments);
  const char message[] = "the runner's program cannot be started\n";
  (void)!write(STDERR_FILENO, message, sizeof(message) - 1);
  _exit(127);
}

std::string ReadSmallFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What the system says of every thread of a process that can say nothing itself.
std::string DescribeThreads(std::int64_t process_id) {
  std::string text = fmt::format("threads of process {}, as the system sees them:\n", process_id);
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process_id), error)) {
    const std::string stat = ReadSmallFile(task.path() / "stat");
    const size_t name_end = stat.rfind(") ");
    std::string name = ReadSmallFile(task.path() / "comm");
    if (!name.empty()) name.pop_back();
    text += fmt::format("  thread {} ({}) state {} waits in {}\n", task.path().filename().string(),
                        name, name_end == std::string::npos ? '?' : stat[name_end + 2],
                        ReadSmallFile(task.path() / "wchan"));
    text += ReadSmallFile(task.path() / "stack");  // for those who may read it
  }
  return text;
}

bool IsStopped(std::int64_t process_id) {
  const std::string stat = ReadSmallFile(fmt::format("/proc/{}/stat", process_id));
  const size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && (stat[name_end + 2] == 'T' || stat[name_end + 2] == 't');
}

class ForkedRunner final : public RunnerProcess {
 public:
  ForkedRunner(pid_t pid, Descriptor exit, Descriptor log, off_t log_begin)
      : pid_(pid), exit_(std::move(exit)), log_(std::move(log)), log_begin_(log_begin) {}
  ~ForkedRunner() override {
    if (cause_) return;
    Kill();
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  std::int64_t id() const override { return pid_; }
  int exit_fd() const override { return exit_.get(); }

  std::optional<ExitCause> Exited() override {
    int status = 0;
    if (!cause_ && waitpid(pid_, &status, WNOHANG) == pid_) {
      cause_ = WIFSIGNALED(status) ? ExitCause{.signal = WTERMSIG(status)}
                                   : ExitCause{.code = WEXITSTATUS(status)};
    }
    return cause_;
  }

  void Kill() override {
    if (!cause_) kill(pid_, SIGKILL);
  }

  std::chrono::nanoseconds CpuTime() const override {
    clockid_t clock;
    timespec time{};
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  bool DumpStacks() override {
    if (cause_) return true;
    if (!IsStopped(pid_)) {
      kill(pid_, kStackSignal);
      return false;
    }
    const std::string text = DescribeThreads(pid_);
    (void)!write(log_.get(), text.data(), text.size());
    return true;
  }

  std::string LogTail(std::size_t most_bytes) const override {
    struct stat info {};
    if (fstat(log_.get(), &info) != 0 || info.st_size <= log_begin_) return "";
    const off_t begin = std::max(log_begin_, info.st_size - static_cast<off_t>(most_bytes));
    std::string text(static_cast<std::size_t>(info.st_size - begin), '\0');
    const ssize_t count = pread(log_.get(), text.data(), text.size(), begin);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    // Whole lines, but for a last one that is longer than all that may be shown.
    const size_t line = text.find('\n');
    if (begin > log_begin_ && line + 1 < text.size()) text.erase(0, line + 1);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

 private:
  const pid_t pid_;
  const Descriptor exit_;
  const Descriptor log_;
  const off_t log_begin_;
  std::optional<ExitCause> cause_;
};

}  // namespace

std::string ExitCause::Describe() const {
  if (signal == 0) return fmt::format("exit code {}", code);
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("killed by signal {}", signal)
                         : fmt::format("killed by SIG{}", name);
}

Result<LaunchedRunner> LaunchRunner(const RunnerCommand& command) {
  Descriptor log(open(command.log_path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (log.get() < 0) return SystemError(command.log_path);
  off_t log_begin = std::max<off_t>(0, lseek(log.get(), 0, SEEK_END));
  if (log_begin > kMostLogBytes && ftruncate(log.get(), 0) == 0) log_begin = 0;
  const Descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return SystemError("socket");
  Descriptor here(ends[0]), there(ends[1]);

  std::vector<char*> arguments = {const_cast<char*>("tonnage")};
  for (const std::string& word : command.arguments) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const Child child{.program = command.program.c_str(),
                    .arguments = arguments.data(),
                    .socket = there.get(),
                    .log = log.get(),
                    .null = null.get(),
                    .parent = getpid()};
  const pid_t pid = fork();
  if (pid < 0) return SystemError("no process for the model's runner");
  if (pid == 0) BecomeRunner(child);
  Descriptor exit(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (exit.get() < 0) {
    const Error error = SystemError("the runner cannot be watched");
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return error;
  }
  fcntl(exit.get(), F_SETFD, FD_CLOEXEC);
  return LaunchedRunner{
      .process = std::make_unique<ForkedRunner>(pid, std::move(exit), std::move(log), log_begin),
      .socket = here.Release()};
}

}  // namespace tonnage
