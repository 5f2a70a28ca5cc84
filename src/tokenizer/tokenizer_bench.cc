// Encodes files: bytes and tokens a second, on one thread. What to encode comes from the
// environment, since other people's tokenizers are not part of the repository:
// TONNAGE_BENCH_TOKENIZERS and TONNAGE_BENCH_TEXTS are lists of paths separated by colons, folders
// with a tokenizer.json and text files. bench/tokenizer_speed.py sets them.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tokenizer/tokenizer.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

std::vector<fs::path> PathsFrom(const char* variable) {
  std::vector<fs::path> paths;
  const char* value = std::getenv(variable);
  std::istringstream list(value == nullptr ? "" : value);
  for (std::string path; std::getline(list, path, ':');) paths.emplace_back(path);
  return paths;
}

// Texts of a few kilobytes, as requests are; the last one may be shorter.
std::vector<std::string> Chunks(const std::string& text, std::size_t bytes) {
  std::vector<std::string> chunks;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(begin + bytes, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    chunks.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return chunks;
}

void BM_Encode(benchmark::State& state, const fs::path& folder, const fs::path& file) {
  static std::map<std::string, std::unique_ptr<Tokenizer>> loaded;
  std::unique_ptr<Tokenizer>& tokenizer = loaded[folder.string()];
  if (tokenizer == nullptr) {
    auto made = Tokenizer::FromJson(ReadFile(folder / "tokenizer.json"));
    if (!made.ok()) return state.SkipWithError(made.error().message().c_str());
    tokenizer = std::move(made).value();
  }
  constexpr std::size_t kChunkBytes = 4096;
  const std::vector<std::string> chunks = Chunks(ReadFile(file), kChunkBytes);
  std::int64_t bytes = 0, tokens = 0;
  for (auto _ : state) {
    for (const std::string& chunk : chunks) {
      tokens += static_cast<std::int64_t>(tokenizer->Encode(chunk, false)->size());
      bytes += static_cast<std::int64_t>(chunk.size());
    }
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(tokens);
}

const bool kRegistered = [] {
  for (const fs::path& folder : PathsFrom("TONNAGE_BENCH_TOKENIZERS")) {
    for (const fs::path& file : PathsFrom("TONNAGE_BENCH_TEXTS")) {
      const std::string name = "Encode/" + folder.filename().string() + "/" + file.stem().string();
      benchmark::RegisterBenchmark(name.c_str(), BM_Encode, folder, file)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace tonnage
