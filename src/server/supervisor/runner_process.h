// A runner as a process: started with one end of a socket, watched, asked for its stacks, killed.
// It dies with its server, whatever becomes of that. What it prints goes to a log file. The
// interface is what the supervisor needs; tests have one of their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/quote.h"
#include "base/result.h"

namespace tonnage {

// How a process ended.
struct ExitCause {
  int signal = 0;  // 0: by itself
  int code = 0;
  // "killed by SIGKILL", "exit code 3".
  std::string Describe() const;
};

// Not for two threads at a time. Its end is the process's: what still runs is killed.
class RunnerProcess {
 public:
  virtual ~RunnerProcess() = default;
  virtual std::int64_t id() const = 0;
  // Has something to read when the process has ended.
  virtual int exit_fd() const = 0;
  // How it ended, once it has.
  virtual std::optional<ExitCause> Exited() = 0;
  virtual void Kill() = 0;
  // That all its threads together have used.
  virtual std::chrono::nanoseconds CpuTime() const = 0;
  // Has the stack of every thread written to the log: soon, by the process itself; or at once, and
  // then it answers true, what the system says of one that is stopped and cannot.
  virtual bool DumpStacks() = 0;
  // The last lines that it printed, at most so many bytes.
  virtual std::string LogTail(std::size_t most_bytes) const = 0;
};

struct LaunchedRunner {
  std::unique_ptr<RunnerProcess> process;
  int socket = -1;  // this side's end
};

// `share` is what the runner may hold. Called on the thread that must outlive the process: when the
// thread that started a process ends, the system kills the process.
using Launcher = std::function<Result<LaunchedRunner>(const Available& share)>;

// The descriptor that a runner finds its socket at.
inline constexpr int kRunnerSocket = 3;

struct RunnerCommand {
  std::string program;                 // a path
  std::vector<std::string> arguments;  // without the program's name
  std::string log_path;                // appended to; begun anew when it is long
};
Result<LaunchedRunner> LaunchRunner(const RunnerCommand& command);

}  // namespace tonnage
