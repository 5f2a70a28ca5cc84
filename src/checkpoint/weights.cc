#include "checkpoint/weights.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "checkpoint/foreign_weights.h"
#include "checkpoint/quoted.h"
#include "checkpoint/tensor_table.h"

namespace tonnage {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScales = ".scales";
constexpr std::string_view kBiases = ".biases";
constexpr std::string_view kGlobalScale = ".global_scale";

std::optional<FormatKind> PlainFormat(const SafetensorsType& type) {
  if (type.name == "F32") return FormatKind::kF32;
  if (type.name == "F16") return FormatKind::kF16;
  if (type.name == "BF16") return FormatKind::kBF16;
  return std::nullopt;
}

std::string UnreadableType(std::string_view name, std::string_view type) {
  return fmt::format("tensor {} has type {}, which is not a weight format that can be read yet",
                     Quoted(name), type);
}

// A weight without elements is of no use to any model, and its other extents may be of any size.
std::string WithoutElements(std::string_view name, const Shape& shape) {
  return fmt::format("tensor {} has the shape {}, without an element", Quoted(name),
                     shape.ToString());
}

WeightInfo PlainWeight(const SafetensorsTensor& tensor) {
  WeightInfo weight;
  weight.name = tensor.name;
  weight.stored_as = tensor.type->name;
  weight.data = tensor.data;
  if (tensor.shape.size() > static_cast<size_t>(Shape::kMaxRank)) {
    weight.unsupported =
        fmt::format("tensor {} has the shape {}, with more than {} dimensions", Quoted(tensor.name),
                    ExtentsToString(tensor.shape), Shape::kMaxRank);
    return weight;
  }
  for (std::int64_t extent : tensor.shape) weight.shape.Append(extent);
  if (tensor.data.empty()) {
    weight.unsupported = WithoutElements(tensor.name, weight.shape);
  } else if (const auto kind = PlainFormat(*tensor.type)) {
    weight.format = Format::Of(*kind);
  } else {
    weight.unsupported = UnreadableType(tensor.name, tensor.type->name);
  }
  return weight;
}

WeightInfo GgufWeight(const GgufTensor& tensor) {
  WeightInfo weight;
  weight.name = tensor.name;
  weight.shape = tensor.shape;
  weight.stored_as = tensor.type->name;
  weight.data = tensor.data;
  if (tensor.data.empty()) {
    weight.unsupported = WithoutElements(tensor.name, tensor.shape);
  } else if (tensor.type->format) {
    weight.format = Format::Of(*tensor.type->format);
  } else {
    weight.unsupported = UnreadableType(tensor.name, tensor.type->name);
  }
  return weight;
}

// Why a rule cannot be followed, or nothing if it can.
std::string UnsupportedRule(std::string_view name, const QuantRule& rule) {
  const auto because = [&](std::string_view reason) {
    return fmt::format("tensor {} {}", Quoted(name), reason);
  };
  const QuantMode* const mode = FindQuantMode(rule.mode);
  CHECK(mode != nullptr) << rule.mode;
  if (mode->kind != FormatKind::kAffine) {
    if (rule.bits == mode->bits && rule.group == mode->group) return "";
    return because(
        fmt::format("is quantized in mode {} of {} bits in groups of {}, which is not "
                    "read; {} bits in groups of {} are",
                    rule.mode, rule.bits, rule.group, mode->bits, mode->group));
  }
  if (rule.bits < 2 || rule.bits == 7 || rule.bits > 8) {
    return because(
        fmt::format("is quantized to {} bits, which is not read; 2 to 6 and 8 are", rule.bits));
  }
  if (rule.group != 32 && rule.group != 64 && rule.group != 128) {
    return because(fmt::format(
        "is quantized in groups of {}, which is not read; 32, 64 and 128 are", rule.group));
  }
  return "";
}

// The tensors of one MLX quantized layer. All but the first are nullptr where the file lacks them.
struct QuantizedLayer {
  const SafetensorsTensor* weight = nullptr;
  const SafetensorsTensor* scales = nullptr;
  const SafetensorsTensor* biases = nullptr;
  const SafetensorsTensor* global_scale = nullptr;
};

// The layer's logical shape: the packed one with K = words * 32 / bits in the place of the words.
Result<Shape> LogicalShape(const SafetensorsTensor& packed, const QuantRule& rule) {
  const std::string name = Quoted(packed.name);
  if (packed.type->name != "U32") {
    return Unreadable(
        "tensor {} has type {}, but config.json says that it is quantized, which takes U32", name,
        packed.type->name);
  }
  if (packed.shape.empty() || packed.shape.size() > static_cast<size_t>(Shape::kMaxRank)) {
    return Unreadable("tensor {} has the shape {}; a quantized one has one to {} dimensions", name,
                      ExtentsToString(packed.shape), Shape::kMaxRank);
  }
  const std::optional<std::int64_t> row_bits = CheckedMul(packed.shape.back(), 32);
  const bool whole = rule.bits > 0 && rule.group > 0 && row_bits && *row_bits % rule.bits == 0 &&
                     *row_bits / rule.bits % rule.group == 0;
  if (!whole) {
    return Unreadable(
        "tensor {} has rows of {} words, which hold no whole number of groups of {} elements of {} "
        "bits",
        name, packed.shape.back(), rule.group, rule.bits);
  }
  Shape shape;
  for (size_t i = 0; i + 1 < packed.shape.size(); ++i) shape.Append(packed.shape[i]);
  shape.Append(*row_bits / rule.bits);
  return shape;
}

// `part` (scales or biases) must be there, with one element a group.
Status CheckPart(const SafetensorsTensor* part, std::string_view suffix, const std::string& module,
                 const Shape& shape, const QuantRule& rule) {
  const std::string name = Quoted(module + std::string(suffix));
  if (part == nullptr) {
    return Unreadable("tensor {} is missing: config.json says that {} is quantized", name,
                      Quoted(module));
  }
  std::vector<std::int64_t> wanted;
  for (int i = 0; i < shape.rank(); ++i) wanted.push_back(shape[i]);
  wanted.back() /= rule.group;
  if (part->shape != wanted) {
    return Unreadable("tensor {} has the shape {}, but {} of {} bits in groups of {} take {}", name,
                      ExtentsToString(part->shape), Quoted(module), rule.bits, rule.group,
                      ExtentsToString(wanted));
  }
  return {};
}

// The same in a float type.
Result<DType> CheckAffinePart(const SafetensorsTensor* part, std::string_view suffix,
                              const std::string& module, const Shape& shape,
                              const QuantRule& rule) {
  RETURN_IF_ERROR(CheckPart(part, suffix, module, shape, rule));
  return RequireFloats(*part);
}

Status TakeAffineParts(const QuantizedLayer& layer, const std::string& module,
                       const QuantRule& rule, WeightInfo& weight) {
  ASSIGN_OR_RETURN(const DType dtype,
                   CheckAffinePart(layer.scales, kScales, module, weight.shape, rule));
  ASSIGN_OR_RETURN(const DType bias_dtype,
                   CheckAffinePart(layer.biases, kBiases, module, weight.shape, rule));
  if (dtype != bias_dtype) {
    return Unreadable("tensor {} has type {}, but {} has {}", Quoted(layer.biases->name),
                      layer.biases->type->name, Quoted(layer.scales->name),
                      layer.scales->type->name);
  }
  weight.scales = layer.scales->data;
  weight.biases = layer.biases->data;
  if (weight.unsupported.empty()) {
    weight.format =
        Format::Affine(static_cast<int>(rule.bits), static_cast<int>(rule.group), dtype);
  }
  return {};
}

Status TakeFloatParts(const QuantizedLayer& layer, const std::string& module, const QuantRule& rule,
                      WeightInfo& weight) {
  RETURN_IF_ERROR(CheckPart(layer.scales, kScales, module, weight.shape, rule));
  if (layer.scales->type->bits != 8) {
    return Unreadable("tensor {} has type {}; scales of mode {} are U8", Quoted(layer.scales->name),
                      layer.scales->type->name, rule.mode);
  }
  weight.scales = layer.scales->data;
  weight.format = Format::Of(FindQuantMode(rule.mode)->kind);
  if (rule.mode != "nvfp4" || layer.global_scale == nullptr) return {};
  const std::int64_t matrix_rows =
      weight.shape.rank() < 2 ? 1 : weight.shape[weight.shape.rank() - 2];
  const std::int64_t matrices = matrix_rows == 0 ? 0 : weight.Rows() / matrix_rows;
  const SafetensorsTensor& factors = *layer.global_scale;
  if (factors.type->name != "F32" ||
      static_cast<std::int64_t>(factors.data.size()) != 4 * matrices) {
    return Unreadable("tensor {} is {} {}; it must be {} F32", Quoted(factors.name),
                      factors.type->name, ExtentsToString(factors.shape), matrices);
  }
  weight.biases = factors.data;
  weight.format = Format::Of(FormatKind::kNvfp4Global);
  weight.packing = {.kind = Packing::Kind::kMatrixScale, .matrix_rows = matrix_rows};
  return {};
}

Result<WeightInfo> CombineLayer(const QuantizedLayer& layer, const std::string& module,
                                const QuantRule& rule) {
  WeightInfo weight;
  weight.name = layer.weight->name;
  weight.stored_as = fmt::format("{} {}-bit g{}", rule.mode, rule.bits, rule.group);
  weight.unsupported = UnsupportedRule(layer.weight->name, rule);
  weight.data = layer.weight->data;
  ASSIGN_OR_RETURN(weight.shape, LogicalShape(*layer.weight, rule));
  if (weight.data.empty()) weight.unsupported = WithoutElements(weight.name, weight.shape);
  if (rule.mode == "affine") {
    RETURN_IF_ERROR(TakeAffineParts(layer, module, rule, weight));
  } else if (weight.unsupported.empty()) {
    RETURN_IF_ERROR(TakeFloatParts(layer, module, rule, weight));
  }
  return weight;
}

// Whether the tensor is the scales, biases or global scale of a quantized layer's weight, which
// then must be there.
Result<bool> BelongsToLayer(const SafetensorsTensor& tensor, const TensorTable& table,
                            const QuantizationConfig& quantization) {
  for (const std::string_view suffix : {kScales, kBiases, kGlobalScale}) {
    const auto module = ModuleOf(tensor.name, suffix);
    if (!module) continue;
    const bool has_scales = table.Find(*module, kScales) != nullptr;
    if (!has_scales || !quantization.Rule(*module, true)) return false;
    if (table.Find(*module, kWeight) != nullptr) return true;
    return Unreadable("tensor {} has no {} beside it", Quoted(tensor.name),
                      Quoted(*module + std::string(kWeight)));
  }
  return false;
}

}  // namespace

std::int64_t WeightInfo::RowElements() const {
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

std::int64_t WeightInfo::Rows() const {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
  return rows;
}

PackedTensors WeightInfo::Tensors() const {
  return {.packing = packing,
          .format = format,
          .n = Rows(),
          .k = RowElements(),
          .data = data,
          .scales = scales,
          .biases = biases};
}

WeightView WeightInfo::View() const {
  CHECK(packing.rows_as_stored()) << name;
  WeightView view{.format = format, .experts = 1, .n = 1, .k = 1, .data = data.data()};
  if (!scales.empty()) view.scales = scales.data();
  if (!biases.empty()) view.biases = biases.data();
  const int rank = shape.rank();
  if (rank >= 1) view.k = shape[rank - 1];
  if (rank >= 2) view.n = shape[rank - 2];
  for (int i = 0; i + 2 < rank; ++i) view.experts *= shape[i];
  return view;
}

std::vector<WeightInfo> WeightsFromGguf(std::span<const Gguf> parts) {
  std::vector<WeightInfo> weights;
  for (const Gguf& gguf : parts) {
    for (const GgufTensor& tensor : gguf.tensors()) weights.push_back(GgufWeight(tensor));
  }
  std::sort(weights.begin(), weights.end(),
            [](const WeightInfo& a, const WeightInfo& b) { return a.name < b.name; });
  return weights;
}

Result<std::vector<WeightInfo>> WeightsFromSafetensors(std::span<const SafetensorsTensor> tensors,
                                                       const QuantizationConfig& quantization) {
  const TensorTable table(tensors);
  std::vector<WeightInfo> weights;
  for (const SafetensorsTensor& tensor : tensors) {
    ASSIGN_OR_RETURN(ForeignTensor foreign, ReadForeignTensor(tensor, table, quantization));
    if (foreign.weight) weights.push_back(*std::move(foreign.weight));
    if (foreign.belongs) continue;
    if (const auto module = ModuleOf(tensor.name, kWeight)) {
      const QuantizedLayer layer{&tensor, table.Find(*module, kScales),
                                 table.Find(*module, kBiases), table.Find(*module, kGlobalScale)};
      if (const auto rule = quantization.Rule(*module, layer.scales != nullptr)) {
        ASSIGN_OR_RETURN(WeightInfo weight, CombineLayer(layer, *module, *rule));
        weights.push_back(std::move(weight));
        continue;
      }
    }
    ASSIGN_OR_RETURN(const bool belongs, BelongsToLayer(tensor, table, quantization));
    if (!belongs) weights.push_back(PlainWeight(tensor));
  }
  // A foreign layer's weight has another name than its tensor.
  std::sort(weights.begin(), weights.end(),
            [](const WeightInfo& a, const WeightInfo& b) { return a.name < b.name; });
  for (size_t i = 1; i < weights.size(); ++i) {
    if (weights[i].name == weights[i - 1].name)
      return Unreadable("the weight {} is there in two ways", Quoted(weights[i].name));
  }
  return weights;
}

}  // namespace tonnage
