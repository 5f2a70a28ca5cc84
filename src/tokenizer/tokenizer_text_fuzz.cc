// Any text through tokenizers of every kind: it encodes or is refused, the same way twice (the
// second time from the word cache), and decodes.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/json.h"
#include "tokenizer/tokenizer.h"

namespace tonnage {
namespace {

// The random tokenizers of the golden tests.
std::vector<std::unique_ptr<Tokenizer>> LoadAll() {
  std::vector<std::unique_ptr<Tokenizer>> all;
  std::ifstream file(std::string(TONNAGE_SOURCE_DIR) + "/tests/golden/tokenizer/random.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto made = Tokenizer::FromJson(DumpJson(ParseJson(line).value()["tokenizer"]));
    CHECK(made.ok()) << made.error().message();
    all.push_back(std::move(made).value());
  }
  CHECK(!all.empty()) << "no tests/golden/tokenizer/random.jsonl";
  return all;
}

}  // namespace
}  // namespace tonnage

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto tokenizers = tonnage::LoadAll();
  if (size < 1) return 0;
  const tonnage::Tokenizer& tokenizer = *tokenizers[data[0] % tokenizers.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto ids = tokenizer.Encode(text, true);
  const auto again = tokenizer.Encode(text, true);
  CHECK(ids.ok() == again.ok());
  if (!ids.ok()) return 0;
  CHECK(*ids == *again);
  CHECK(tokenizer.Decode(*ids, false).ok());
  CHECK(tokenizer.Decode(*ids, true).ok());
  return 0;
}
