#include "base/subprocess.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace tonnage {

Result<int> RunProgram(const std::vector<std::string>& argv) {
  CHECK(!argv.empty());
  std::vector<char*> arguments;
  for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  const int failure =
      posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return Unavailable("cannot start {}: {}", argv[0], std::strerror(failure));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return Unavailable("{}: {}", argv[0], std::strerror(errno));
  }
  if (WIFSIGNALED(status)) return Unavailable("{} died of signal {}", argv[0], WTERMSIG(status));
  return WEXITSTATUS(status);
}

}  // namespace tonnage
