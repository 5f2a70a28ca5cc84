// A command of `tonnage`: one row in main.cc's table, one file <name>_command.cc. Define() declares
// its options on a CLI11 sub-command and sets what runs when it is chosen. Commands print their
// answer on standard output and everything else on standard error, and report failure by returning
// it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "checkpoint/hub/hub.h"

namespace tonnage::cli {

// What the process was started with; read once in main.cc, since nothing below cli/ reads the
// environment.
struct Environment {
  std::string home;  // the model store: TONNAGE_HOME, else the user's data directory + /tonnage
  std::string memory_limit;         // TONNAGE_MEMORY_LIMIT, unparsed; empty when unset
  std::string buffer_limit;         // TONNAGE_BUFFER_LIMIT, likewise
  std::string submission_bytes;     // TONNAGE_SUBMISSION_BYTES, unparsed like the next two
  std::string submission_launches;  // TONNAGE_SUBMISSION_LAUNCHES
  std::string submission_ms;        // TONNAGE_SUBMISSION_MS
  hub::Settings hub;                // HF_ENDPOINT, HF_TOKEN and what else its own client reads
  std::string hub_token_file;       // where that client keeps a token when HF_TOKEN is unset
  std::string api_key;              // TONNAGE_API_KEY; empty when unset
  bool stdin_is_terminal = false;
  bool stdout_is_terminal = false;
  bool stderr_is_terminal = false;
  bool color = false;  // a terminal, and NO_COLOR unset

  static Environment FromProcess();
};

// Runs the chosen command; set by Define's callback.
using Action = std::function<Status()>;

struct Command {
  std::string_view name;
  std::string_view group;  // the heading in --help
  std::string_view summary;
  void (*define)(CLI::App& app, const Environment& environment, Action& action);
};

}  // namespace tonnage::cli
