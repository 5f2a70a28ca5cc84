#include "quant/pack.h"

#include <cstring>

#include "base/check.h"
#include "quant/pack_gguf.h"
#include "quant/pack_mlx.h"

namespace tonnage {
namespace {

void PackF32(std::span<const float> row, std::uint8_t* data) {
  std::memcpy(data, row.data(), row.size_bytes());
}

template <std::uint16_t (*kConvert)(float)>
void PackHalves(std::span<const float> row, std::uint8_t* data) {
  for (size_t i = 0; i < row.size(); ++i) {
    const std::uint16_t bits = kConvert(row[i]);
    std::memcpy(data + 2 * i, &bits, sizeof bits);
  }
}

}  // namespace

bool CanPack(FormatKind kind) {
  switch (kind) {
    case FormatKind::kF32:
    case FormatKind::kF16:
    case FormatKind::kBF16:
    case FormatKind::kQ4_0:
    case FormatKind::kQ4_1:
    case FormatKind::kQ8_0:
    case FormatKind::kQ4_K:
    case FormatKind::kQ6_K:
    case FormatKind::kAffine:
    case FormatKind::kMxfp4:
    case FormatKind::kMxfp8:
    case FormatKind::kNvfp4:
      return true;
    default:
      return false;
  }
}

void PackRow(const Format& format, std::span<const float> row, std::uint8_t* data,
             std::uint8_t* scales, std::uint8_t* biases, const PackOptions& options) {
  CHECK_EQ(row.size() % static_cast<size_t>(format.BlockElements()), size_t{0});
  switch (format.kind) {
    case FormatKind::kF32:
      return PackF32(row, data);
    case FormatKind::kF16:
      return PackHalves<F32ToF16>(row, data);
    case FormatKind::kBF16:
      return PackHalves<F32ToBf16>(row, data);
    case FormatKind::kQ4_0:
      return internal::PackQ4_0(row, data);
    case FormatKind::kQ4_1:
      return internal::PackQ4_1(row, data);
    case FormatKind::kQ8_0:
      return internal::PackQ8_0(row, data);
    case FormatKind::kQ4_K:
      return internal::PackQ4_K(row, data);
    case FormatKind::kQ6_K:
      return internal::PackQ6_K(row, data);
    case FormatKind::kAffine:
      return internal::PackAffine(format, options.profile, row, data, scales, biases);
    case FormatKind::kMxfp4:
    case FormatKind::kMxfp8:
    case FormatKind::kNvfp4:
      return internal::PackMlxFloat(format.kind, options, row, data, scales);
    default:
      CHECK(false) << format.Name() << " is read only";
  }
}

QuantizedWeight Pack(const Format& format, std::int64_t experts, std::int64_t n, std::int64_t k,
                     std::span<const float> values, const PackOptions& options) {
  const std::int64_t rows = experts * n;
  CHECK_EQ(static_cast<std::int64_t>(values.size()), rows * k);
  const std::optional<RowBytes> bytes = FormatRowBytes(format, k);
  CHECK(bytes.has_value()) << format.Name() << " rows of " << k;
  QuantizedWeight weight{
      .format = format, .experts = experts, .n = n, .k = k, .data = {}, .scales = {}, .biases = {}};
  weight.data.resize(static_cast<size_t>(rows * bytes->data));
  weight.scales.resize(static_cast<size_t>(rows * bytes->scales));
  weight.biases.resize(static_cast<size_t>(rows * bytes->biases));
  for (std::int64_t row = 0; row < rows; ++row) {
    PackRow(format, values.subspan(static_cast<size_t>(row * k), static_cast<size_t>(k)),
            weight.data.data() + row * bytes->data, weight.scales.data() + row * bytes->scales,
            weight.biases.data() + row * bytes->biases, options);
  }
  return weight;
}

}  // namespace tonnage
