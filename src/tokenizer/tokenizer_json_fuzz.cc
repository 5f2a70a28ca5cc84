// A tokenizer.json from anywhere: it loads or is refused, and what loads encodes and decodes
// without a fault.
#include <cstddef>
#include <cstdint>

#include "tokenizer/tokenizer.h"

namespace tonnage {
namespace {

void Use(const Tokenizer& tokenizer) {
  for (const std::string_view text : {"", " ", "Hello  world, it's 3.14!\n",
                                      "e\u0301 \u4E2D\u6587\u3042 \U0001F468\u200D\U0001F469",
                                      "<s>\xFF aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    const auto ids = tokenizer.Encode(text, true);
    if (!ids.ok()) continue;
    for (const bool skip : {false, true}) {
      if (!tokenizer.Decode(*ids, skip).ok()) return;
    }
  }
}

}  // namespace
}  // namespace tonnage

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');  // behind it, a tokenizer_config.json
  const auto made = tonnage::Tokenizer::FromJson(text.substr(0, cut), cut == std::string_view::npos
                                                                          ? std::string_view()
                                                                          : text.substr(cut + 1));
  if (made.ok()) tonnage::Use(**made);
  return 0;
}
