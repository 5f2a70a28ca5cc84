#include "checkpoint/quantization_config.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

// The rule that an object states by itself: what it leaves out takes the defaults of its own mode,
// never a parent's.
Result<QuantRule> ParseRule(const Json& object) {
  QuantRule rule;
  ASSIGN_OR_RETURN(rule.mode, JsonString(object, "mode", "affine"));
  const QuantMode* defaults = FindQuantMode(rule.mode);
  if (defaults == nullptr)
    return Unsupported("the unknown quantization mode {}", Quoted(rule.mode));
  ASSIGN_OR_RETURN(rule.bits, JsonInt(object, "bits", defaults->bits));
  ASSIGN_OR_RETURN(rule.group, JsonInt(object, "group_size", defaults->group));
  return rule;
}

}  // namespace

const QuantMode* FindQuantMode(std::string_view name) {
  const auto it = std::ranges::find(kQuantModes, name, &QuantMode::name);
  return it == std::end(kQuantModes) ? nullptr : &*it;
}

Result<QuantizationConfig> QuantizationConfig::Parse(const Json& config) {
  QuantizationConfig result;
  const Json* text = JsonFind(config, "text_config");
  for (const Json* object : {&config, text}) {
    if (object == nullptr) continue;
    for (const char* key : {"quantization", "quantization_config"}) {
      const Json* section = JsonFind(*object, key);
      if (section == nullptr) continue;
      const std::string name = fmt::format("`{}`", key);
      if (!section->is_object())
        return Unreadable("{} must be an object, not {}", name, section->type_name());
      ASSIGN_OR_RETURN(const std::string method, JsonString(*section, "quant_method", ""));
      const Status parsed =
          method.empty() ? result.ParseMlx(*section) : result.ParseForeign(*section, method);
      if (!parsed.ok()) return parsed.error().In(name);
      return result;
    }
  }
  return result;
}

Status QuantizationConfig::ParseMlx(const Json& section) {
  ASSIGN_OR_RETURN(default_, ParseRule(section));
  for (const auto& [module, value] : section.items()) {
    if (value.is_boolean()) {
      overrides_[module] = value.get<bool>() ? default_ : std::nullopt;
    } else if (value.is_object()) {
      Result<QuantRule> rule = ParseRule(value);
      if (!rule.ok()) return rule.error().In(Quoted(module));
      overrides_[module] = *std::move(rule);
    }
  }
  return {};
}

Status QuantizationConfig::ParseForeign(const Json& section, const std::string& method) {
  if (method == "awq" || method == "gptq") return ParseColumns(section, method);
  if (method == "fp8") return ParseFp8(section);
  if (method == "compressed-tensors") return ParseCompressedTensors(section);
  if (method == "mxfp4") {
    method_ = QuantMethod::kMxfp4Blocks;
    default_ = QuantRule{.mode = "mxfp4", .bits = 4, .group = 32};
    return {};
  }
  return Unsupported("the method {} is not read; awq, gptq, fp8, mxfp4 and compressed-tensors are",
                     Quoted(method));
}

Status QuantizationConfig::ParseColumns(const Json& section, const std::string& method) {
  method_ = QuantMethod::kColumns;
  const bool awq = method == "awq";
  columns_.kind = awq ? Packing::Kind::kAwq : Packing::Kind::kGptq;
  ASSIGN_OR_RETURN(const std::int64_t bits, JsonInt(section, "bits", 4));
  if (bits != 4) return Unsupported("{} of {} bits is not read; 4 bits are", method, bits);
  ASSIGN_OR_RETURN(columns_.group, JsonInt(section, "group_size", 128));
  // The layouts that these names stand for; the others are rearranged for one kernel each.
  const char* key = awq ? "version" : "checkpoint_format";
  ASSIGN_OR_RETURN(const std::string layout, JsonString(section, key, awq ? "gemm" : "gptq"));
  const bool known =
      awq ? layout == "gemm" || layout == "GEMM" : layout == "gptq" || layout == "gptq_v2";
  if (!known) return Unsupported("`{}` is {}, which is not read", key, Quoted(layout));
  if (layout == "gptq") columns_.zero_offset = 1;
  if (!awq) {
    ASSIGN_OR_RETURN(columns_.desc_act, JsonBool(section, "desc_act", false));
  }
  return {};
}

Status QuantizationConfig::ParseFp8(const Json& section) {
  method_ = QuantMethod::kFp8;
  ASSIGN_OR_RETURN(const std::string type, JsonString(section, "fmt", "e4m3"));
  if (type != "e4m3") return Unsupported("fp8 of type {} is not read; e4m3 is", Quoted(type));
  const Json* block = JsonFind(section, "weight_block_size");
  if (block == nullptr) {
    return Unsupported(
        "fp8 without a `weight_block_size`, which gives a scale to blocks of a "
        "weight, is not read");
  }
  const bool pair = block->is_array() && block->size() == 2 && (*block)[0].is_number_unsigned() &&
                    (*block)[1].is_number_unsigned();
  constexpr std::uint64_t kLargest = 1 << 20;
  for (size_t i = 0; i < 2 && pair; ++i) {
    const auto extent = (*block)[i].get<std::uint64_t>();
    if (extent == 0 || extent > kLargest)
      return Unreadable("a `weight_block_size` of {}", DumpJson(*block));
    (i == 0 ? fp8_.block_rows : fp8_.block_columns) = static_cast<std::int64_t>(extent);
  }
  if (!pair) return Unreadable("`weight_block_size` must be two whole numbers");
  return {};
}

Status QuantizationConfig::ParseCompressedTensors(const Json& section) {
  method_ = QuantMethod::kCompressedTensors;
  ASSIGN_OR_RETURN(const std::string format, JsonString(section, "format", ""));
  if (format != "nvfp4-pack-quantized") {
    return Unsupported("compressed-tensors in the format {} is not read; nvfp4-pack-quantized is",
                       Quoted(format));
  }
  default_ = QuantRule{.mode = "nvfp4", .bits = 4, .group = 16};
  return {};
}

std::optional<QuantRule> QuantizationConfig::Rule(std::string_view module, bool has_scales) const {
  const auto it = overrides_.find(module);
  if (it != overrides_.end()) return it->second;
  return has_scales ? default_ : std::nullopt;
}

}  // namespace tonnage
