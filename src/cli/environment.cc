#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <initializer_list>
#include <string>

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

// The first of them that is set, or the fallback.
std::string FirstOf(std::initializer_list<const char*> names, std::string fallback) {
  for (const char* name : names) {
    if (std::string value = Variable(name); !value.empty()) return value;
  }
  return fallback;
}

// As Hugging Face's own client reads it, so that what works there works here.
void ReadHub(Environment& environment) {
  hub::Settings& hub = environment.hub;
  const std::string caches = FirstOf({"XDG_CACHE_HOME"}, Variable("HOME") + "/.cache");
  const std::string home = FirstOf({"HF_HOME"}, caches + "/huggingface");
  hub.endpoint = FirstOf({"HF_ENDPOINT"}, hub.endpoint);
  hub.token = FirstOf({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}, "");
  hub.token.erase(hub.token.find_last_not_of(" \r\n\t") + 1);
  hub.cache = FirstOf({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}, home + "/hub");
  environment.hub_token_file = FirstOf({"HF_TOKEN_PATH"}, home + "/token");
  std::string offline = FirstOf({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}, "");
  for (char& c : offline) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  hub.offline = offline == "1" || offline == "ON" || offline == "YES" || offline == "TRUE";
  const int stall_seconds = std::atoi(Variable("HF_HUB_DOWNLOAD_TIMEOUT").c_str());
  if (stall_seconds > 0) hub.limits.stall_seconds = stall_seconds;
}

}  // namespace

Environment Environment::FromProcess() {
  Environment environment;
  environment.home = Variable("TONNAGE_HOME");
  if (environment.home.empty()) environment.home = DataDirectory() + "/tonnage";
  environment.memory_limit = Variable("TONNAGE_MEMORY_LIMIT");
  environment.buffer_limit = Variable("TONNAGE_BUFFER_LIMIT");
  environment.submission_bytes = Variable("TONNAGE_SUBMISSION_BYTES");
  environment.submission_launches = Variable("TONNAGE_SUBMISSION_LAUNCHES");
  environment.submission_ms = Variable("TONNAGE_SUBMISSION_MS");
  environment.api_key = Variable("TONNAGE_API_KEY");
  ReadHub(environment);
  environment.stdin_is_terminal = isatty(STDIN_FILENO) == 1;
  environment.stdout_is_terminal = isatty(STDOUT_FILENO) == 1;
  environment.stderr_is_terminal = isatty(STDERR_FILENO) == 1;
  environment.color = environment.stdout_is_terminal && Variable("NO_COLOR").empty();
  return environment;
}

}  // namespace tonnage::cli
