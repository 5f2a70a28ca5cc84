#include "checkpoint/hub/name.h"

#include <algorithm>

#include "checkpoint/quoted.h"

namespace tonnage::hub {
namespace {

constexpr size_t kLongestWord = 200;  // with what we append to it, a file name on every system

bool IsPlainWord(std::string_view word) {
  return !word.empty() && word.size() <= kLongestWord && word.front() != '.' &&
         word.front() != '-' && std::all_of(word.begin(), word.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("-_.+=").find(c) != std::string_view::npos;
         });
}

// The hub's own rules for an owner and a repository.
bool IsRepositoryWord(std::string_view word) {
  constexpr size_t kHubsLongest = 96;
  return IsPlainWord(word) && word.size() <= kHubsLongest && word.back() != '.' &&
         word.back() != '-' && word.find_first_of("+=") == std::string_view::npos &&
         word.find("--") == std::string_view::npos && word.find("..") == std::string_view::npos;
}

// Cuts `text` at the first `sign` and returns what followed it.
std::string_view CutAt(std::string_view& text, char sign) {
  const size_t at = text.find(sign);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

}  // namespace

Result<ModelName> ModelName::Parse(std::string_view text) {
  const std::string_view whole = text;
  for (const std::string_view prefix : {"https://", "huggingface.co/", "hf.co/"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  ModelName name;
  const bool has_file = text.find(':') != std::string_view::npos;
  name.file = CutAt(text, ':');
  if (text.find('@') != std::string_view::npos) name.revision = CutAt(text, '@');
  name.repository = text;
  const std::string_view repository = CutAt(text, '/');
  const bool good = IsRepositoryWord(text) && IsRepositoryWord(repository) &&
                    !repository.ends_with(".git") && IsPlainWord(name.revision) &&
                    (!has_file || IsPlainPath(name.file));
  if (good) return name;
  return InvalidArgument(
      "{} is not a model of a hub: write `org/name`, `org/name:FILE.gguf`, `org/name:Q4_K_M` or "
      "`org/name@REVISION`",
      Quoted(whole));
}

std::string ModelName::StoreName() const {
  std::string name = repository;
  if (revision != "main") name += "@" + revision;
  if (!file.empty()) name += ":" + std::string(BaseName(file));
  return name;
}

bool IsPlainPath(std::string_view path) {
  for (;;) {
    const size_t slash = path.find('/');
    if (!IsPlainWord(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace tonnage::hub
