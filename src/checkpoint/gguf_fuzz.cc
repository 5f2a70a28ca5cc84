// Any bytes as a GGUF file, and every value in it asked for as every type.
#include <cstdlib>

#include "checkpoint/gguf.h"
#include "checkpoint/weights.h"

using namespace tonnage;  // NOLINT: a program of one function

namespace {

template <typename T>
void Ask(const Gguf& gguf, std::string_view key) {
  const auto value = gguf.Get<T>(key);
  if (value.ok() ? !value->has_value() : value.error().message().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const Result<Gguf> gguf = Gguf::Parse({data, size});
  if (!gguf.ok()) {
    if (gguf.error().message().empty()) std::abort();
    return 0;
  }
  for (const GgufEntry& entry : gguf->metadata()) {
    if (gguf->Find(entry.key) != &entry) std::abort();
    Ask<bool>(*gguf, entry.key);
    Ask<std::int64_t>(*gguf, entry.key);
    Ask<double>(*gguf, entry.key);
    Ask<std::string_view>(*gguf, entry.key);
    Ask<std::vector<std::int64_t>>(*gguf, entry.key);
    Ask<std::vector<float>>(*gguf, entry.key);
    Ask<std::vector<std::string_view>>(*gguf, entry.key);
  }
  for (const WeightInfo& weight : WeightsFromGguf({&*gguf, 1})) {
    if (!weight.data.empty() &&
        (weight.data.data() < data || weight.data.data() + weight.data.size() > data + size)) {
      std::abort();
    }
    if (!weight.unsupported.empty()) continue;
    const WeightView view = weight.View();
    const auto row = FormatRowBytes(weight.format, view.k);
    if (!row || view.experts * view.n * row->Total() != weight.bytes()) std::abort();
  }
  return 0;
}
