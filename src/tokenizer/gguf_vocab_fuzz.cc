// GGUF vocabularies as a hostile file would fill them: kinds, flags, ids, scores, types, tokens and
// merges out of the input's bytes, and a text for whatever tokenizer comes of it.
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "tokenizer/gguf_pre.h"
#include "tokenizer/gguf_vocab.h"

namespace {

// Hands out the input piece by piece; at its end everything is zero or empty.
class Source {
 public:
  Source(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t Byte() { return rest_.empty() ? 0 : static_cast<std::uint8_t>(Text(1)[0]); }
  std::string_view Text(std::size_t size) {
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(text.size());
    return text;
  }
  float Float() {
    float value = 0;
    const std::string_view bytes = Text(sizeof(value));
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::optional<std::int64_t> Id() {
    const std::uint8_t byte = Byte();
    if (byte < 64) return std::nullopt;
    return byte < 240 ? byte - 70 : static_cast<std::int64_t>(byte) << 40;
  }
  std::optional<bool> Flag() {
    const std::uint8_t byte = Byte() % 3;
    return byte == 2 ? std::nullopt : std::optional<bool>(byte == 1);
  }
  std::string_view Rest() { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tonnage;
  constexpr const char* kModels[] = {"gpt2",   "llama", "t5",     "bert",
                                     "plamo2", "rwkv",  "gemma4", "?"};
  Source source(data, size);
  GgufVocab vocab;
  vocab.model = kModels[source.Byte() % 8];
  const auto rows = GgufPreTokenizers();
  const std::string_view names = rows[source.Byte() % rows.size()].names;
  vocab.pre = names.substr(0, names.find(' '));
  for (auto* id :
       {&vocab.bos_id, &vocab.eos_id, &vocab.eot_id, &vocab.unk_id, &vocab.sep_id, &vocab.cls_id}) {
    *id = source.Id();
  }
  for (auto* flag : {&vocab.add_bos, &vocab.add_eos, &vocab.add_space_prefix,
                     &vocab.remove_extra_whitespaces, &vocab.lowercase}) {
    *flag = source.Flag();
  }
  const std::uint8_t shape = source.Byte();
  if (shape & 1) {  // the kinds with byte tokens need all of them
    for (int byte = 0; byte < 256; ++byte) {
      vocab.tokens.push_back(fmt::format("<0x{:02X}>", byte));
      vocab.types.push_back(6);
      vocab.scores.push_back(0);
    }
  }
  for (int count = source.Byte(); count > 0; --count) {
    vocab.tokens.emplace_back(source.Text(source.Byte() % 8));
    vocab.types.push_back(static_cast<std::int8_t>(source.Byte()));
    vocab.scores.push_back(source.Float());
  }
  if (shape & 2) vocab.types.clear();
  if (shape & 4) vocab.scores.clear();
  if (shape & 8) vocab.scores.resize(3);
  for (int count = source.Byte(); count > 0; --count) {
    vocab.merges.emplace_back(source.Text(source.Byte() % 8));
  }
  if (shape & 16) vocab.precompiled_charsmap = source.Text(source.Byte());

  GgufEndIds(vocab);
  const auto tokenizer = MakeGgufTokenizer(std::move(vocab));
  if (!tokenizer.ok()) return 0;
  const auto ids = (*tokenizer)->Encode(source.Rest(), true);
  if (!ids.ok()) return 0;
  for (const TokenId id : *ids) CHECK(id >= 0 && id <= (*tokenizer)->max_id());
  CHECK((*tokenizer)->Decode(*ids, false).ok());
  return 0;
}
