// Any bytes as the two parts of a split GGUF model; the first two bytes say where they are cut.
#include <cstdlib>
#include <string>
#include <vector>

#include "checkpoint/split_gguf.h"
#include "checkpoint/weights.h"

using namespace tonnage;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::span<const std::uint8_t> bytes(data + 2, size - 2);
  const size_t cut = (data[0] | data[1] << 8) % (bytes.size() + 1);
  std::vector<Gguf> parts;
  for (const auto part : {bytes.first(cut), bytes.subspan(cut)}) {
    Result<Gguf> gguf = Gguf::Parse(part);
    if (!gguf.ok()) return 0;
    parts.push_back(*std::move(gguf));
  }
  const std::string paths[] = {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"};
  const Status split = CheckSplit(parts, paths);
  if (!split.ok()) {
    if (split.error().message().empty()) std::abort();
    return 0;
  }
  const std::vector<WeightInfo> weights = WeightsFromGguf(parts);
  if (weights.size() != parts[0].tensors().size() + parts[1].tensors().size()) std::abort();
  for (size_t i = 1; i < weights.size(); ++i) {
    if (weights[i - 1].name >= weights[i].name) std::abort();
  }
  return 0;
}
