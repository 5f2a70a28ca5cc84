// Any bytes as a safetensors file, and the weights that would be made of it.
#include <cstdlib>

#include "checkpoint/safetensors.h"
#include "checkpoint/weights.h"

using namespace tonnage;  // NOLINT: a program of one function

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

  const Json config = {{"quantization", {{"bits", 4}, {"group_size", 32}}}};
  const auto weights = WeightsFromSafetensors(parsed->tensors, *QuantizationConfig::Parse(config));
  if (!weights.ok()) return 0;
  for (const WeightInfo& weight : *weights) {
    if (!weight.unsupported.empty()) continue;
    const WeightView view = weight.View();
    const auto row = FormatRowBytes(weight.format, view.k);
    if (!row || view.experts * view.n * row->Total() != weight.bytes()) std::abort();
  }
  return 0;
}
