// Any bytes as a safetensors file, and the weights that would be made of it.
#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/weights.h"

using namespace tonnage;  // NOLINT: a program of one function

namespace {

constexpr const char* kConfigs[] = {
    R"({"quantization": {"bits": 4, "group_size": 32}})",
    R"({"quantization": {"mode": "nvfp4"}})",
    R"({"quantization_config": {"quant_method": "awq", "group_size": 32}})",
    R"({"quantization_config": {"quant_method": "gptq", "group_size": -1, "desc_act": true}})",
    R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [2, 4]}})",
    R"({"quantization_config": {"quant_method": "mxfp4"}})",
    R"({"quantization_config": {"quant_method": "compressed-tensors",
                                "format": "nvfp4-pack-quantized"}})"};

// Every byte that the weight's rows are made of, so that the sanitizer sees one that is not there.
void ReadEveryRow(const WeightInfo& weight) {
  const PackedTensors tensors = weight.Tensors();
  const RowBytes row = FormatRowBytes(tensors.format, tensors.k).value();
  constexpr std::int64_t kBlock = 8;
  std::vector<std::uint8_t> staging(static_cast<size_t>(PackedStagingBytes(tensors, kBlock)));
  unsigned sum = 0;
  for (std::int64_t first = 0; first < tensors.n; first += kBlock) {
    const std::int64_t count = std::min(kBlock, tensors.n - first);
    const WeightView view = ReadPackedRows(tensors, first, count, staging);
    for (const auto& [part, bytes] :
         {std::pair{view.data, row.data}, {view.scales, row.scales}, {view.biases, row.biases}}) {
      for (std::int64_t i = 0; i < count * bytes; ++i) sum += part[i];
    }
  }
  volatile unsigned kept = sum;
  static_cast<void>(kept);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const Result<Safetensors> parsed = ParseSafetensors({data, size});
  if (!parsed.ok()) {
    if (parsed.error().message().empty()) std::abort();
    return 0;
  }
  size_t bytes = 0;
  for (const SafetensorsTensor& tensor : parsed->tensors) {
    if (parsed->Find(tensor.name) != &tensor) std::abort();
    if (!tensor.data.empty() &&
        (tensor.data.data() < data || tensor.data.data() + tensor.data.size() > data + size)) {
      std::abort();
    }
    bytes += tensor.data.size();
  }
  if (bytes > size) std::abort();
  // What was read can be written, and reads back the same.
  std::string copy = SafetensorsHeader(parsed->tensors, parsed->metadata);
  for (const SafetensorsTensor& tensor : parsed->tensors)
    copy.append(tensor.data.begin(), tensor.data.end());
  const auto again =
      ParseSafetensors({reinterpret_cast<const std::uint8_t*>(copy.data()), copy.size()});
  if (!again.ok() || again->tensors.size() != parsed->tensors.size()) std::abort();

  for (const char* config : kConfigs) {
    const auto quantization = QuantizationConfig::Parse(*ParseJson(config));
    if (!quantization.ok()) std::abort();
    const auto weights = WeightsFromSafetensors(parsed->tensors, *quantization);
    if (!weights.ok()) continue;
    for (const WeightInfo& weight : *weights) {
      if (weight.unsupported.empty()) ReadEveryRow(weight);
    }
  }
  return 0;
}
