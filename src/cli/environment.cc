#include <unistd.h>

#include <cstdlib>

#include "cli/command.h"

namespace tonnage::cli {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Where a user's data belongs: XDG_DATA_HOME, else ~/.local/share.
std::string DataDirectory() {
  if (std::string data = Variable("XDG_DATA_HOME"); !data.empty()) return data;
  return Variable("HOME") + "/.local/share";
}

}  // namespace

Environment Environment::FromProcess() {
  Environment environment;
  environment.home = Variable("TONNAGE_HOME");
  if (environment.home.empty()) environment.home = DataDirectory() + "/tonnage";
  environment.memory_limit = Variable("TONNAGE_MEMORY_LIMIT");
  environment.stdin_is_terminal = isatty(STDIN_FILENO) == 1;
  environment.stdout_is_terminal = isatty(STDOUT_FILENO) == 1;
  environment.stderr_is_terminal = isatty(STDERR_FILENO) == 1;
  environment.color = environment.stdout_is_terminal && Variable("NO_COLOR").empty();
  return environment;
}

}  // namespace tonnage::cli
