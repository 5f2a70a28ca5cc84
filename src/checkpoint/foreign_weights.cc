#include "checkpoint/foreign_weights.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

constexpr std::int64_t kNibbles = 8;  // in a 32-bit word
using Extents = std::vector<std::int64_t>;

// The tensors of one layer, asked for by suffix and checked.
class Layer {
 public:
  Layer(const TensorTable& table, std::string module) : table_(table), module_(std::move(module)) {}

  const std::string& module() const { return module_; }
  const SafetensorsTensor* Find(std::string_view suffix) const {
    return table_.Find(module_, suffix);
  }
  Result<const SafetensorsTensor*> Require(std::string_view suffix) const {
    const SafetensorsTensor* tensor = Find(suffix);
    if (tensor != nullptr) return tensor;
    return Unreadable("tensor {} is missing, which {} needs", Name(suffix), Quoted(module_));
  }
  // The same with this type and shape.
  Result<const SafetensorsTensor*> Require(std::string_view suffix, std::string_view type,
                                           const Extents& shape) const {
    ASSIGN_OR_RETURN(const SafetensorsTensor* tensor, Require(suffix));
    if (tensor->type->name != type) {
      return Unreadable("tensor {} has type {}; it must be {}", Name(suffix), tensor->type->name,
                        type);
    }
    RETURN_IF_ERROR(CheckShape(*tensor, shape));
    return tensor;
  }
  Status CheckShape(const SafetensorsTensor& tensor, const Extents& shape) const {
    if (tensor.shape == shape) return {};
    return Unreadable("tensor {} has the shape {}; the others of {} make it {}",
                      Quoted(tensor.name), ExtentsToString(tensor.shape), Quoted(module_),
                      ExtentsToString(shape));
  }
  std::string Name(std::string_view suffix) const { return Quoted(module_ + std::string(suffix)); }

 private:
  const TensorTable& table_;
  std::string module_;
};

Result<Extents> MatrixExtents(const SafetensorsTensor& tensor, size_t rank) {
  if (tensor.shape.size() != rank || tensor.data.empty()) {
    return Unreadable("tensor {} has the shape {}; it must have {} dimensions and elements",
                      Quoted(tensor.name), ExtentsToString(tensor.shape), rank);
  }
  return tensor.shape;
}

Status CheckProduct(const SafetensorsTensor& tensor, std::int64_t extent, std::int64_t factor) {
  if (CheckedMul(extent, factor)) return {};
  return Unreadable("tensor {} has the shape {}, which is too large", Quoted(tensor.name),
                    ExtentsToString(tensor.shape));
}

// The largest group of the affine format that divides both, so that its groups are whole parts of
// the stored ones.
std::int64_t AffineGroup(std::int64_t group, std::int64_t k) {
  for (const std::int64_t fitting : {128, 64, 32}) {
    if (group % fitting == 0 && k % fitting == 0) return fitting;
  }
  return 0;
}

// Whether g_idx only says what is understood without it: element k is of group k / group. GPTQ
// without desc_act may leave it at 0.
bool IsTrivial(const SafetensorsTensor& g_idx, std::int64_t group, bool may_be_zero) {
  bool rising = true, zero = may_be_zero;
  for (size_t k = 0; k < g_idx.data.size() / 4; ++k) {
    std::int32_t index;
    std::memcpy(&index, g_idx.data.data() + 4 * k, sizeof index);
    rising = rising && index == static_cast<std::int64_t>(k) / group;
    zero = zero && index == 0;
  }
  return rising || zero;
}

Result<WeightInfo> ReadColumns(const Layer& layer, const SafetensorsTensor& codes,
                               const ColumnRule& rule) {
  const bool awq = rule.kind == Packing::Kind::kAwq;
  const std::string_view method = awq ? "awq" : "gptq";
  ASSIGN_OR_RETURN(const Extents extents, MatrixExtents(codes, 2));
  if (codes.type->name != "I32" && codes.type->name != "U32") {
    return Unreadable("tensor {} has type {}; {} takes I32", Quoted(codes.name), codes.type->name,
                      method);
  }
  RETURN_IF_ERROR(CheckProduct(codes, extents[awq ? 1 : 0], kNibbles));
  const std::int64_t n = awq ? extents[1] * kNibbles : extents[1];
  const std::int64_t k = awq ? extents[0] : extents[0] * kNibbles;
  const std::int64_t group = rule.group == -1 ? k : rule.group;
  if (group <= 0 || k % group != 0 || n % kNibbles != 0) {
    return Unreadable("tensor {} is {} by {}, which hold no whole groups of {}", Quoted(codes.name),
                      n, k, group);
  }
  ASSIGN_OR_RETURN(const SafetensorsTensor* scales, layer.Require(".scales"));
  RETURN_IF_ERROR(layer.CheckShape(*scales, {k / group, n}));
  ASSIGN_OR_RETURN(const DType dtype, RequireFloats(*scales));
  const SafetensorsTensor* zeros = layer.Find(".qzeros");
  if (zeros != nullptr) {
    RETURN_IF_ERROR(layer.Require(".qzeros", codes.type->name, {k / group, n / kNibbles}));
  }

  WeightInfo weight;
  weight.name = layer.module() + ".weight";
  weight.stored_as = fmt::format("{} 4-bit g{}", method, rule.group);
  weight.shape = {n, k};
  weight.data = codes.data;
  weight.scales = scales->data;
  if (zeros != nullptr) weight.biases = zeros->data;
  weight.packing = {.kind = rule.kind, .group = group, .zero_offset = rule.zero_offset};
  const std::int64_t affine_group = AffineGroup(group, k);
  if (affine_group == 0) {
    weight.unsupported = fmt::format(
        "tensor {} is quantized in groups of {}, which is not read; multiples of 32 are",
        Quoted(codes.name), group);
    return weight;
  }
  weight.format = Format::Affine(4, static_cast<int>(affine_group), dtype);
  if (layer.Find(".g_idx") != nullptr) {
    ASSIGN_OR_RETURN(const SafetensorsTensor* g_idx, layer.Require(".g_idx", "I32", {k}));
    if (!IsTrivial(*g_idx, group, !rule.desc_act)) {
      weight.unsupported = fmt::format(
          "tensor {} puts elements into groups out of order (desc_act), which is not read",
          Quoted(g_idx->name));
    }
  }
  return weight;
}

// A layer's matrix whose rows of `k` elements the file keeps whole.
Result<WeightInfo> RowsWeight(std::string name, const SafetensorsTensor& data, Shape shape,
                              const Format& format, std::string stored_as) {
  if (!FormatRowBytes(format, shape[shape.rank() - 1])) {
    return Unreadable("tensor {} has rows of {} elements, which are no whole groups of {}",
                      Quoted(data.name), shape[shape.rank() - 1], format.BlockElements());
  }
  WeightInfo weight;
  weight.name = std::move(name);
  weight.format = format;
  weight.shape = shape;
  weight.stored_as = std::move(stored_as);
  weight.data = data.data;
  return weight;
}

Result<WeightInfo> ReadFp8(const Layer& layer, const SafetensorsTensor& codes,
                           const Fp8Rule& rule) {
  ASSIGN_OR_RETURN(const Extents extents, MatrixExtents(codes, 2));
  const std::int64_t n = extents[0], k = extents[1];
  ASSIGN_OR_RETURN(const SafetensorsTensor* scales, layer.Require(".weight_scale_inv"));
  RETURN_IF_ERROR(
      layer.CheckShape(*scales, {CeilDiv(n, rule.block_rows), CeilDiv(k, rule.block_columns)}));
  ASSIGN_OR_RETURN(const DType dtype, RequireFloats(*scales));
  ASSIGN_OR_RETURN(WeightInfo weight,
                   RowsWeight(codes.name, codes, {n, k},
                              Format::Fp8(static_cast<int>(rule.block_columns), dtype),
                              fmt::format("fp8 {}x{}", rule.block_rows, rule.block_columns)));
  weight.scales = scales->data;
  weight.packing = {.kind = Packing::Kind::kBlockScales, .block_rows = rule.block_rows};
  return weight;
}

// gpt-oss: blocks U8 [experts, n, k / 32, 16], whose nibbles lie as in MLX's words.
Result<WeightInfo> ReadMxfp4Blocks(const Layer& layer, const SafetensorsTensor& blocks) {
  constexpr std::int64_t kBlockElements = 32, kBlockBytes = 16;
  ASSIGN_OR_RETURN(const Extents extents, MatrixExtents(blocks, 4));
  if (blocks.type->name != "U8" || extents[3] != kBlockBytes) {
    return Unreadable("tensor {} is {} {}; blocks of mxfp4 are U8 [experts, rows, blocks, {}]",
                      Quoted(blocks.name), blocks.type->name, ExtentsToString(extents),
                      kBlockBytes);
  }
  RETURN_IF_ERROR(CheckProduct(blocks, extents[2], kBlockElements));
  ASSIGN_OR_RETURN(const SafetensorsTensor* scales,
                   layer.Require("_scales", "U8", {extents[0], extents[1], extents[2]}));
  ASSIGN_OR_RETURN(
      WeightInfo weight,
      RowsWeight(layer.module(), blocks, {extents[0], extents[1], extents[2] * kBlockElements},
                 Format::Of(FormatKind::kMxfp4), "mxfp4 blocks"));
  weight.scales = scales->data;
  return weight;
}

// compressed-tensors: two elements a byte, and one over the factor of the whole matrix.
Result<WeightInfo> ReadPackedNvfp4(const Layer& layer, const SafetensorsTensor& codes) {
  constexpr std::int64_t kGroup = 16;
  ASSIGN_OR_RETURN(const Extents extents, MatrixExtents(codes, 2));
  if (codes.type->name != "U8")
    return Unreadable("tensor {} has type {}; it must be U8", Quoted(codes.name), codes.type->name);
  RETURN_IF_ERROR(CheckProduct(codes, extents[1], 2));
  const std::int64_t n = extents[0], k = 2 * extents[1];
  ASSIGN_OR_RETURN(const SafetensorsTensor* scales,
                   layer.Require(".weight_scale", "F8_E4M3", {n, k / kGroup}));
  ASSIGN_OR_RETURN(const SafetensorsTensor* factor, layer.Require(".weight_global_scale"));
  if (factor->type->name != "F32" || factor->data.size() != sizeof(float)) {
    return Unreadable("tensor {} is {} {}; it must be one F32", Quoted(factor->name),
                      factor->type->name, ExtentsToString(factor->shape));
  }
  ASSIGN_OR_RETURN(WeightInfo weight,
                   RowsWeight(layer.module() + ".weight", codes, {n, k},
                              Format::Of(FormatKind::kNvfp4Global), "nvfp4 packed"));
  weight.scales = scales->data;
  weight.biases = factor->data;
  weight.packing = {.kind = Packing::Kind::kInverseMatrixScale, .matrix_rows = n};
  return weight;
}

// How each method names a layer's tensors: the one that stands for the weight, and the others.
struct Names {
  QuantMethod method;
  std::string_view main;
  std::vector<std::string_view> others;
};
const std::vector<Names>& AllNames() {
  static const std::vector<Names> names = {
      {QuantMethod::kColumns, ".qweight", {".qzeros", ".scales", ".g_idx"}},
      {QuantMethod::kFp8, ".weight", {".weight_scale_inv", ".input_scale"}},
      {QuantMethod::kMxfp4Blocks, "_blocks", {"_scales"}},
      {QuantMethod::kCompressedTensors,
       ".weight_packed",
       {".weight_scale", ".weight_global_scale", ".input_global_scale"}}};
  return names;
}

Result<WeightInfo> ReadLayer(const Layer& layer, const SafetensorsTensor& main,
                             const QuantizationConfig& quantization) {
  switch (quantization.method()) {
    case QuantMethod::kColumns:
      return ReadColumns(layer, main, quantization.columns());
    case QuantMethod::kFp8:
      return ReadFp8(layer, main, quantization.fp8());
    case QuantMethod::kMxfp4Blocks:
      return ReadMxfp4Blocks(layer, main);
    case QuantMethod::kCompressedTensors:
      return ReadPackedNvfp4(layer, main);
    case QuantMethod::kMlx:
      break;
  }
  return Internal("MLX's layers are read elsewhere");
}

}  // namespace

Result<ForeignTensor> ReadForeignTensor(const SafetensorsTensor& tensor, const TensorTable& table,
                                        const QuantizationConfig& quantization) {
  const auto names = std::ranges::find(AllNames(), quantization.method(), &Names::method);
  if (names == AllNames().end()) return ForeignTensor{};
  if (const auto module = ModuleOf(tensor.name, names->main)) {
    // FP8 layers have a plain weight's name.
    if (names->method == QuantMethod::kFp8 && tensor.type->name != "F8_E4M3")
      return ForeignTensor{};
    ASSIGN_OR_RETURN(WeightInfo weight, ReadLayer(Layer(table, *module), tensor, quantization));
    return ForeignTensor{.belongs = true, .weight = std::move(weight)};
  }
  for (const std::string_view suffix : names->others) {
    const auto module = ModuleOf(tensor.name, suffix);
    if (module && table.Find(*module, names->main) != nullptr) return ForeignTensor{true};
  }
  return ForeignTensor{};
}

}  // namespace tonnage
