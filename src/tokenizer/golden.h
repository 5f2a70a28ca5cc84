// For tests only: reads the golden files of tests/golden/tokenizer and of the folder that
// TONNAGE_ORACLES names.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"

namespace tonnage::golden {

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline std::filesystem::path Folder() {
  return std::filesystem::path(TONNAGE_SOURCE_DIR) / "tests/golden/tokenizer";
}

// Other people's tokenizers, which are not part of the repository.
inline std::filesystem::path Oracles() {
  const char* set = std::getenv("TONNAGE_ORACLES");
  return set != nullptr ? std::filesystem::path(set)
                        : std::filesystem::path(TONNAGE_SOURCE_DIR) / "../shared/oracles";
}

struct Row {
  std::string text;
  std::vector<int> ids;
  std::string decoded;
};

inline std::vector<Row> ReadRows(const std::filesystem::path& path) {
  std::vector<Row> rows;
  std::istringstream lines(ReadFile(path));
  for (std::string line; std::getline(lines, line);) {
    const auto json = ParseJson(line);
    EXPECT_TRUE(json.ok()) << path << ": " << line;
    if (!json.ok()) continue;
    rows.push_back({(*json)["text"].get<std::string>(), (*json)["ids"].get<std::vector<int>>(),
                    (*json)["decoded"].get<std::string>()});
  }
  EXPECT_FALSE(rows.empty()) << path;
  return rows;
}

}  // namespace tonnage::golden
