#include "quant/format.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace tonnage {
namespace {

// What one block of a row takes in each part.
struct Block {
  std::string_view name;
  int elements = 1;
  int data = 0;
  int scales = 0;
  int biases = 0;
  int row_biases = 0;  // once a row instead
};

constexpr Block kBlocks[] = {
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"bf16", 1, 2},
    {"q4_0", 32, 18},
    {"q4_1", 32, 20},
    {"q5_0", 32, 22},
    {"q5_1", 32, 24},
    {"q8_0", 32, 34},
    {"iq4_nl", 32, 18},
    {"mxfp4 (gguf)", 32, 17},
    {"q2_k", 256, 84},
    {"q3_k", 256, 110},
    {"q4_k", 256, 144},
    {"q5_k", 256, 176},
    {"q6_k", 256, 210},
    {"iq4_xs", 256, 136},
    {"affine"},
    {"mxfp4", 32, 16, 1},
    {"mxfp8", 32, 32, 1},
    {"nvfp4", 16, 8, 1},
    {"nvfp4 with a factor", 16, 8, 1, 0, 4},
    {"fp8"},
};
static_assert(std::size(kBlocks) == static_cast<size_t>(FormatKind::kFp8) + 1);

Block BlockOf(const Format& format) {
  Block block = kBlocks[static_cast<size_t>(format.kind)];
  if (block.data > 0) return block;
  block.elements = format.group;
  block.data = format.group / 8 * format.bits;
  block.scales = DTypeBytes(format.scale_dtype);
  if (format.kind == FormatKind::kAffine) block.biases = block.scales;
  return block;
}

}  // namespace

std::string Format::Name() const {
  const std::string_view name = kBlocks[static_cast<size_t>(kind)].name;
  if (kind == FormatKind::kAffine)
    return fmt::format("affine {}-bit g{} ({})", bits, group, DTypeName(scale_dtype));
  if (kind == FormatKind::kFp8) return fmt::format("fp8 g{} ({})", group, DTypeName(scale_dtype));
  return std::string(name);
}

int Format::BlockElements() const { return BlockOf(*this).elements; }

double Format::BitsPerWeight() const {
  const Block block = BlockOf(*this);
  return 8.0 * (block.data + block.scales + block.biases) / block.elements;
}

std::optional<RowBytes> FormatRowBytes(const Format& format, std::int64_t k) {
  const Block block = BlockOf(format);
  if (k < 0 || k % block.elements != 0) return std::nullopt;
  const std::int64_t blocks = k / block.elements;
  const std::int64_t each = block.data + block.scales + block.biases;
  const std::optional<Bytes> all = CheckedMul(blocks, each);
  if (!all || !CheckedAdd(*all, block.row_biases)) return std::nullopt;
  return RowBytes{.data = blocks * block.data,
                  .scales = blocks * block.scales,
                  .biases = blocks * block.biases + block.row_biases};
}

}  // namespace tonnage
