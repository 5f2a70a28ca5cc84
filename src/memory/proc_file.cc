#include "memory/proc_file.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace tonnage {

std::optional<std::string> ReadProcText(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<Bytes> ReadProcNumber(const std::filesystem::path& path) {
  const auto text = ReadProcText(path);
  Bytes number = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

std::optional<Bytes> ReadProcField(const std::filesystem::path& path, std::string_view key) {
  const auto text = ReadProcText(path);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  std::string word;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Bytes number = 0;
    if (words >> word && word == key && words >> number) return number;
  }
  return std::nullopt;
}

}  // namespace tonnage
