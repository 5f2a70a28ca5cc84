#include "cli/serve_options.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "server/access.h"
#include "service/text_files.h"

namespace tonnage::cli {
namespace {

// Conversations at a time where nobody says how many, if so many fit.
constexpr std::int64_t kDefaultSlots = 4;

// "smollm2" of "smollm2", "Qwen3-4B" of "./Qwen3-4B/", "model" of "models/model.gguf".
std::string NameOf(const std::string& model) {
  std::filesystem::path path(model);
  if (!path.has_filename()) path = path.parent_path();
  if (path.extension() == ".gguf") path.replace_extension();
  return path.filename().string();
}

void AddAddress(CLI::App& app, ServeOptions& options) {
  constexpr const char* kGroup = "Where and for whom";
  app.add_option("--host", options.host, "the IP address to listen on")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--port", options.http.port, "0 takes any free one")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--unix-socket", options.http.unix_socket, "listen on this path instead")
      ->group(kGroup);
  app.add_option("--tls-cert", options.http.tls_certificate, "PEM file of the certificate chain")
      ->group(kGroup);
  app.add_option("--tls-key", options.http.tls_key, "PEM file of its key")->group(kGroup);
  app.add_option("--api-key-file", options.api_key_file,
                 "a file with a key a line; a request must bring one of them")
      ->group(kGroup);
  app.add_option("--cors-origin", options.cors_origins,
                 "let web pages of this origin use the server; * for all; may be given several "
                 "times")
      ->group(kGroup);
  app.add_option(
         "--served-name", options.names,
         "what clients call the only model (default: as MODEL has it); may be given several "
         "times")
      ->group(kGroup);
  app.add_flag("--quiet", options.quiet, "no log line for each request")->group(kGroup);
}

void AddLimits(CLI::App& app, ServeOptions& options) {
  constexpr const char* kGroup = "Limits";
  const auto add = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)
        ->check(CLI::PositiveNumber)
        ->capture_default_str()
        ->group(kGroup);
  };
  http::Limits& limits = options.http.limits;
  add("--queue-requests", options.queue.requests, "requests that may wait for a slot");
  add("--queue-tokens", options.queue.tokens, "tokens that their prompts may have in all");
  add("--max-header-bytes", limits.header_bytes, "of a request's head");
  add("--max-body-bytes", limits.body_bytes, "of a request's body");
  add("--max-bodies-bytes", limits.all_bodies_bytes, "of all bodies of requests under way");
  add("--header-ms", limits.header_ms, "for a whole head, from its first byte");
  add("--body-ms", limits.body_grace_ms, "for a body, beside what its rate allows");
  add("--body-bytes-per-second", limits.body_bytes_per_s, "the slowest that a body may come");
  add("--idle-ms", limits.idle_ms, "for a connection without a request");
  add("--write-ms", limits.write_ms, "for a client that takes nothing of its answer");
  add("--connections", limits.connections, "at a time");
  app.add_option("--drain-seconds", options.drain_seconds,
                 "how long answers may go on after SIGTERM")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group(kGroup);
}

void AddProcesses(CLI::App& app, ServeOptions& options) {
  constexpr const char* kGroup = "Processes";
  app.add_option("--keep-alive", options.keep_alive_seconds,
                 "seconds after which an unused model is unloaded (default: only to make room)")
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
  app.add_option("--heartbeat-ms", options.heartbeat_ms,
                 "a model's process that has work and does not step for so long is started anew")
      ->check(CLI::Range(50, 86'400'000))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--runner-logs", options.runner_logs,
                 "a folder for what the models' processes print (default: a temporary one, kept "
                 "after a crash)")
      ->group(kGroup);
}

}  // namespace

void ServeOptions::AddTo(CLI::App& app) {
  load.slots = kDefaultSlots;
  http.port = 8080;
  app.add_option("MODEL", models,
                 "names in the store, folders, or GGUF files; the first is loaded at once, others "
                 "when they are asked for")
      ->required();
  load.AddLoadTo(app);
  AddAddress(app, *this);
  AddLimits(app, *this);
  AddProcesses(app, *this);
}

Result<std::vector<std::vector<std::string>>> ServeOptions::Names() const {
  if (!names.empty()) {
    if (models.size() == 1) return std::vector<std::vector<std::string>>{names};
    return InvalidArgument("--served-name is for one model, and {} are given", models.size());
  }
  std::vector<std::vector<std::string>> all;
  for (const std::string& model : models) {
    std::vector<std::string> own = {NameOf(model)};
    if (std::ranges::find(all, own) != all.end()) {
      return InvalidArgument("two of the models would both be called `{}`", own.front());
    }
    all.push_back(std::move(own));
  }
  return all;
}

Result<std::vector<std::string>> ReadApiKeys(const ServeOptions& options,
                                             const Environment& environment) {
  std::vector<std::string> keys;
  if (!environment.api_key.empty()) {
    auto parsed = ParseApiKeys(environment.api_key);
    if (!parsed.ok()) return parsed.error().In("TONNAGE_API_KEY");
    keys = std::move(*parsed);
  }
  if (!options.api_key_file.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadTextFile(options.api_key_file));
    auto parsed = ParseApiKeys(text);
    if (!parsed.ok()) return parsed.error().In(options.api_key_file);
    keys.insert(keys.end(), parsed->begin(), parsed->end());
  }
  return keys;
}

}  // namespace tonnage::cli
