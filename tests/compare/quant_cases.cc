// Quantizes and dequantizes what other programs hand it, so that they can compare: reads cases from
// standard input until its end and answers each on standard output.
//
//   pack:   "P" header, then n * k float32; the answer is data, scales, biases
//   unpack: "U" header, then data, scales, biases; the answer is n * k float32
//
// The header is ten int32: the places of kind, scale type, source type and profile in their
// enumerations, bits, group, n, k, and two that are not used.
#include <cstdio>
#include <vector>

#include "quant/pack.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

struct Header {
  std::int32_t kind, scale_dtype, source, profile, bits, group, n, k, unused[2];
};

template <typename T>
bool Read(std::vector<T>& values, std::size_t count) {
  values.resize(count);
  return std::fread(values.data(), sizeof(T), count, stdin) == count;
}

template <typename T>
void Write(const std::vector<T>& values) {
  std::fwrite(values.data(), sizeof(T), values.size(), stdout);
}

bool RunPack(const Format& format, const Header& header) {
  std::vector<float> values;
  if (!Read(values, static_cast<std::size_t>(header.n) * static_cast<std::size_t>(header.k)))
    return false;
  const QuantizedWeight weight =
      Pack(format, 1, header.n, header.k, values,
           {static_cast<PackProfile>(header.profile), static_cast<DType>(header.source)});
  Write(weight.data);
  Write(weight.scales);
  Write(weight.biases);
  return true;
}

bool RunUnpack(const Format& format, const Header& header) {
  const RowBytes bytes = FormatRowBytes(format, header.k).value();
  const auto n = static_cast<std::size_t>(header.n), k = static_cast<std::size_t>(header.k);
  std::vector<std::uint8_t> data, scales, biases;
  if (!Read(data, n * static_cast<std::size_t>(bytes.data)) ||
      !Read(scales, n * static_cast<std::size_t>(bytes.scales)) ||
      !Read(biases, n * static_cast<std::size_t>(bytes.biases))) {
    return false;
  }
  const WeightView view{.format = format,
                        .n = header.n,
                        .k = header.k,
                        .data = data.data(),
                        .scales = scales.data(),
                        .biases = biases.data()};
  std::vector<float> out(n * k);
  for (std::size_t row = 0; row < n; ++row)
    UnpackRow(view, static_cast<std::int64_t>(row), std::span(out).subspan(row * k, k));
  Write(out);
  return true;
}

int Main() {
  for (int op = std::getchar(); op != EOF; op = std::getchar()) {
    Header header;
    if (std::fread(&header, sizeof header, 1, stdin) != 1) return 1;
    const Format format{static_cast<FormatKind>(header.kind), header.bits, header.group,
                        static_cast<DType>(header.scale_dtype)};
    if (!(op == 'P' ? RunPack(format, header) : RunUnpack(format, header))) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tonnage

int main() { return tonnage::Main(); }
