// Checkpoints with spoiled bytes: each is read or refused with a message, and costs no more memory
// than a file of its size may.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "checkpoint/testing.h"
#include "engine/allocation_counter.h"
#include "models/open.h"
#include "test_host.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

constexpr int kMutants = 100;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A few bytes of the first `head` changed, some cut out or doubled, or the end cut off.
std::string Mutate(std::string bytes, size_t head, std::mt19937& random) {
  const auto below = [&](size_t bound) { return random() % std::max<size_t>(bound, 1); };
  head = std::min(head, bytes.size());
  switch (below(5)) {
    case 0:
      return bytes.substr(0, below(bytes.size()));
    case 1:
      return bytes.erase(below(head), 1 + below(16));
    case 2: {
      const size_t at = below(head);
      return bytes.insert(at, bytes.substr(at, 1 + below(64)));
    }
    default:
      for (size_t i = 1 + below(4); i > 0; --i) {
        // Lengths, counts and offsets are where large numbers hurt.
        constexpr unsigned char kValues[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
        const size_t at = below(head);
        bytes[at] = static_cast<char>(below(2) == 0 ? kValues[below(5)] : random());
      }
      return bytes;
  }
}

// `path` is a file of a checkpoint that opens as `opened` does.
void ExpectHarmless(const std::string& opened, const fs::path& path, size_t head) {
  const std::string original = ReadFile(path);
  std::mt19937 random(17);
  int refused = 0;
  for (int i = 0; i < kMutants; ++i) {
    SCOPED_TRACE(fmt::format("{}, mutant {}", path.string(), i));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << Mutate(original, head, random);
    AllocationCount count;
    const auto model = OpenModel(opened);
    EXPECT_LE(count.Largest(), 16 * original.size() + (1 << 20));
    if (model.ok()) continue;
    ++refused;
    EXPECT_FALSE(model.error().message().empty());
    EXPECT_NE(model.error().code(), Code::kInternal) << model.error().message();
  }
  EXPECT_GT(refused, kMutants / 4);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << original;
}

TEST(MutatedCheckpoint, AGgufFileIsReadOrRefused) {
  const testing::TemporaryFolder folder;
  const fs::path copy = fs::path(folder.path()) / "model.gguf";
  fs::copy_file(kGolden + "gguf/llama.gguf", copy);
  ExpectHarmless(copy, copy, 8192);
}

TEST(MutatedCheckpoint, AFolderIsReadOrRefused) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"config.json", "model.safetensors"})
    fs::copy_file(kGolden + "models/llama/" + name, fs::path(folder.path()) / name);
  ExpectHarmless(folder.path(), fs::path(folder.path()) / "model.safetensors", 6144);
  ExpectHarmless(folder.path(), fs::path(folder.path()) / "config.json", 4096);
}

}  // namespace
}  // namespace tonnage
