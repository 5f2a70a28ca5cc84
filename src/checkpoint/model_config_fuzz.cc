// Any text as a config.json's quantization and as a safetensors index, the first byte choosing
// which.
#include <cstdlib>

#include "checkpoint/quantization_config.h"
#include "checkpoint/shards.h"

using namespace tonnage;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    const Result<ShardIndex> index = ParseShardIndex(text);
    if (!index.ok() && index.error().message().empty()) std::abort();
    if (!index.ok()) return 0;
    for (const auto& [tensor, file] : *index) {
      if (file.empty() || file.find('/') != std::string::npos) std::abort();
    }
    return 0;
  }
  const Result<Json> config = ParseJson(text);
  if (!config.ok()) return 0;
  const Result<QuantizationConfig> quantization = QuantizationConfig::Parse(*config);
  if (!quantization.ok()) {
    if (quantization.error().message().empty()) std::abort();
    return 0;
  }
  quantization->Rule("model.layers.0.mlp.up_proj", true);
  quantization->Rule("a", false);
  return 0;
}
