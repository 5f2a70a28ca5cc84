#include "checkpoint/weights.h"

#include <algorithm>
#include <optional>

#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScales = ".scales";
constexpr std::string_view kBiases = ".biases";

std::optional<FormatKind> PlainFormat(const SafetensorsType& type) {
  if (type.name == "F32") return FormatKind::kF32;
  if (type.name == "F16") return FormatKind::kF16;
  if (type.name == "BF16") return FormatKind::kBF16;
  return std::nullopt;
}

std::optional<DType> ScaleDType(const SafetensorsType& type) {
  if (type.name == "F32") return DType::kF32;
  if (type.name == "F16") return DType::kF16;
  if (type.name == "BF16") return DType::kBF16;
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

// Why a rule cannot be followed, or nothing if it can.
std::string UnsupportedRule(std::string_view name, const QuantRule& rule) {
  const auto because = [&](std::string_view reason) {
    return fmt::format("tensor {} {}", Quoted(name), reason);
  };
  if (rule.mode != "affine") {
    return because(
        fmt::format("is quantized in mode {}, which is not read yet; affine is", rule.mode));
  }
  if (rule.bits != 4 && rule.bits != 8) {
    return because(
        fmt::format("is quantized to {} bits, which is not read yet; 4 and 8 are", rule.bits));
  }
  if (rule.group != 32 && rule.group != 64 && rule.group != 128) {
    return because(fmt::format(
        "is quantized in groups of {}, which is not read; 32, 64 and 128 are", rule.group));
  }
  return "";
}

// The three tensors of one MLX quantized layer. The last two are nullptr where the file lacks them.
struct QuantizedLayer {
  const SafetensorsTensor* weight = nullptr;
  const SafetensorsTensor* scales = nullptr;
  const SafetensorsTensor* biases = nullptr;
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

// `part` (scales or biases) must be there, in a float type, with one element a group.
Result<DType> CheckAffinePart(const SafetensorsTensor* part, std::string_view suffix,
                              const std::string& module, const Shape& shape,
                              const QuantRule& rule) {
  const std::string name = Quoted(module + std::string(suffix));
  if (part == nullptr) {
    return Unreadable("tensor {} is missing: config.json says that {} is quantized", name,
                      Quoted(module));
  }
  const std::optional<DType> dtype = ScaleDType(*part->type);
  if (!dtype)
    return Unreadable("tensor {} has type {}; it must be F32, F16 or BF16", name, part->type->name);
  std::vector<std::int64_t> wanted;
  for (int i = 0; i < shape.rank(); ++i) wanted.push_back(shape[i]);
  wanted.back() /= rule.group;
  if (part->shape != wanted) {
    return Unreadable("tensor {} has the shape {}, but {} of {} bits in groups of {} take {}", name,
                      ExtentsToString(part->shape), Quoted(module), rule.bits, rule.group,
                      ExtentsToString(wanted));
  }
  return *dtype;
}

Result<WeightInfo> CombineLayer(const QuantizedLayer& layer, const std::string& module,
                                const QuantRule& rule) {
  WeightInfo weight;
  weight.name = layer.weight->name;
  weight.stored_as = fmt::format("{} {}-bit g{}", rule.mode, rule.bits, rule.group);
  weight.unsupported = UnsupportedRule(layer.weight->name, rule);
  weight.data = layer.weight->data;
  if (layer.scales != nullptr) weight.scales = layer.scales->data;
  if (layer.biases != nullptr) weight.biases = layer.biases->data;
  ASSIGN_OR_RETURN(weight.shape, LogicalShape(*layer.weight, rule));
  if (weight.data.empty()) weight.unsupported = WithoutElements(weight.name, weight.shape);
  if (rule.mode != "affine") return weight;
  ASSIGN_OR_RETURN(const DType dtype,
                   CheckAffinePart(layer.scales, kScales, module, weight.shape, rule));
  ASSIGN_OR_RETURN(const DType bias_dtype,
                   CheckAffinePart(layer.biases, kBiases, module, weight.shape, rule));
  if (dtype != bias_dtype) {
    return Unreadable("tensor {} has type {}, but {} has {}", Quoted(module + std::string(kBiases)),
                      layer.biases->type->name, Quoted(module + std::string(kScales)),
                      layer.scales->type->name);
  }
  if (weight.unsupported.empty()) {
    weight.format =
        Format::Affine(static_cast<int>(rule.bits), static_cast<int>(rule.group), dtype);
  }
  return weight;
}

// The module that `name` belongs to as its `suffix`, or nothing.
std::optional<std::string> ModuleOf(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  return std::string(name.substr(0, name.size() - suffix.size()));
}

}  // namespace

WeightView WeightInfo::View() const {
  WeightView view{.format = format, .experts = 1, .n = 1, .k = 1, .data = data.data()};
  if (!scales.empty()) view.scales = scales.data();
  if (!biases.empty()) view.biases = biases.data();
  const int rank = shape.rank();
  if (rank >= 1) view.k = shape[rank - 1];
  if (rank >= 2) view.n = shape[rank - 2];
  for (int i = 0; i + 2 < rank; ++i) view.experts *= shape[i];
  return view;
}

std::vector<WeightInfo> WeightsFromGguf(const Gguf& gguf) {
  std::vector<WeightInfo> weights;
  weights.reserve(gguf.tensors().size());
  for (const GgufTensor& tensor : gguf.tensors()) {
    WeightInfo& weight = weights.emplace_back();
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
  }
  std::sort(weights.begin(), weights.end(),
            [](const WeightInfo& a, const WeightInfo& b) { return a.name < b.name; });
  return weights;
}

Result<std::vector<WeightInfo>> WeightsFromSafetensors(std::span<const SafetensorsTensor> tensors,
                                                       const QuantizationConfig& quantization) {
  const auto find = [&](const std::string& name) -> const SafetensorsTensor* {
    const auto it = std::lower_bound(
        tensors.begin(), tensors.end(), name,
        [](const SafetensorsTensor& t, const std::string& n) { return t.name < n; });
    return it == tensors.end() || it->name != name ? nullptr : &*it;
  };
  std::vector<WeightInfo> weights;
  for (const SafetensorsTensor& tensor : tensors) {
    if (const auto module = ModuleOf(tensor.name, kWeight)) {
      const QuantizedLayer layer{&tensor, find(*module + std::string(kScales)),
                                 find(*module + std::string(kBiases))};
      if (const auto rule = quantization.Rule(*module, layer.scales != nullptr)) {
        ASSIGN_OR_RETURN(WeightInfo weight, CombineLayer(layer, *module, *rule));
        weights.push_back(std::move(weight));
        continue;
      }
    }
    // Scales and biases belong to their layer's weight.
    auto module = ModuleOf(tensor.name, kScales);
    const bool is_scales = module.has_value();
    if (!is_scales) module = ModuleOf(tensor.name, kBiases);
    if (module && (is_scales || find(*module + std::string(kScales)) != nullptr) &&
        quantization.Rule(*module, true)) {
      if (find(*module + std::string(kWeight)) != nullptr) continue;
      return Unreadable("tensor {} has no {} beside it", Quoted(tensor.name),
                        Quoted(*module + std::string(kWeight)));
    }
    weights.push_back(PlainWeight(tensor));
  }
  return weights;
}

}  // namespace tonnage
