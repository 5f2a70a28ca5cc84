// What the command line of `tonnage serve` says. A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/runtime.h"
#include "server/http/server.h"

namespace tonnage::cli {

struct ServeOptions {
  std::vector<std::string> models;  // as the user names them; at least one
  ModelOptions load;                // of each, but for the model
  bool slots_given = false;
  http::Options http;
  std::string host = "127.0.0.1";
  std::vector<std::string> names;  // of the only model
  std::string api_key_file;
  std::vector<std::string> cors_origins;
  QueueLimits queue;
  std::int64_t drain_seconds = 30;
  std::int64_t heartbeat_ms = 60'000;
  std::optional<double> keep_alive_seconds;
  std::string runner_logs;  // a folder
  bool quiet = false;

  void AddTo(CLI::App& app);
  // What clients call each of the models, in order; InvalidArgument where that is not clear.
  Result<std::vector<std::vector<std::string>>> Names() const;
};

// The keys of the file and the environment.
Result<std::vector<std::string>> ReadApiKeys(const ServeOptions& options,
                                             const Environment& environment);

}  // namespace tonnage::cli
