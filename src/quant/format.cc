#include "quant/format.h"

#include <fmt/format.h>

namespace tonnage {
namespace {

struct BlockLayout {
  std::string_view name;
  int elements;
  int bytes;
};

// kAffine's blocks depend on bits and group, and are computed where they are asked for.
constexpr BlockLayout Block(FormatKind kind) {
  switch (kind) {
    case FormatKind::kF32:
      return {"f32", 1, 4};
    case FormatKind::kF16:
      return {"f16", 1, 2};
    case FormatKind::kBF16:
      return {"bf16", 1, 2};
    case FormatKind::kQ4_0:
      return {"q4_0", 32, 18};
    case FormatKind::kQ4_1:
      return {"q4_1", 32, 20};
    case FormatKind::kQ8_0:
      return {"q8_0", 32, 34};
    case FormatKind::kQ6_K:
      return {"q6_k", 256, 210};
    case FormatKind::kAffine:
      break;
  }
  return {"affine", 0, 0};
}

}  // namespace

std::string Format::Name() const {
  if (kind != FormatKind::kAffine) return std::string(Block(kind).name);
  return fmt::format("affine {}-bit g{} ({})", bits, group, DTypeName(scale_dtype));
}

int Format::BlockElements() const {
  return kind == FormatKind::kAffine ? group : Block(kind).elements;
}

double Format::BitsPerWeight() const {
  if (kind == FormatKind::kAffine) return bits + 2.0 * 8 * DTypeBytes(scale_dtype) / group;
  return 8.0 * Block(kind).bytes / Block(kind).elements;
}

std::optional<RowBytes> FormatRowBytes(const Format& format, std::int64_t k) {
  if (k < 0 || k % format.BlockElements() != 0) return std::nullopt;
  const std::int64_t blocks = k / format.BlockElements();
  if (format.kind != FormatKind::kAffine) {
    const std::optional<Bytes> data = CheckedMul(blocks, Block(format.kind).bytes);
    return data ? std::optional(RowBytes{.data = *data}) : std::nullopt;
  }
  const std::optional<Bytes> data = CheckedMul(blocks, format.group / 8 * format.bits);
  const std::optional<Bytes> scales = CheckedMul(blocks, DTypeBytes(format.scale_dtype));
  if (!data || !scales || !CheckedAdd(*data, 2 * *scales)) return std::nullopt;
  return RowBytes{.data = *data, .scales = *scales, .biases = *scales};
}

}  // namespace tonnage
