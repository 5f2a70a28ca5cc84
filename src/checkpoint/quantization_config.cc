#include "checkpoint/quantization_config.h"

#include <utility>

#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

struct ModeDefaults {
  std::string_view mode;
  std::int64_t bits;
  std::int64_t group;
};
constexpr ModeDefaults kModes[] = {
    {"affine", 4, 64}, {"mxfp4", 4, 32}, {"nvfp4", 4, 16}, {"mxfp8", 8, 32}};

// The rule that an object states by itself: what it leaves out takes the defaults of its own mode,
// never a parent's.
Result<QuantRule> ParseRule(const Json& object) {
  QuantRule rule;
  ASSIGN_OR_RETURN(rule.mode, JsonString(object, "mode", "affine"));
  const ModeDefaults* defaults = nullptr;
  for (const ModeDefaults& row : kModes) {
    if (row.mode == rule.mode) defaults = &row;
  }
  if (defaults == nullptr)
    return Unsupported("the unknown quantization mode {}", Quoted(rule.mode));
  ASSIGN_OR_RETURN(rule.bits, JsonInt(object, "bits", defaults->bits));
  ASSIGN_OR_RETURN(rule.group, JsonInt(object, "group_size", defaults->group));
  return rule;
}

}  // namespace

Result<QuantizationConfig> QuantizationConfig::Parse(const Json& config) {
  QuantizationConfig result;
  const char* key =
      JsonFind(config, "quantization") != nullptr ? "quantization" : "quantization_config";
  const Json* section = JsonFind(config, key);
  if (section == nullptr) return result;
  if (!section->is_object())
    return Unreadable("`{}` must be an object, not {}", key, section->type_name());
  ASSIGN_OR_RETURN(const std::string method, JsonString(*section, "quant_method", ""));
  if (!method.empty())
    return Unsupported("`{}` has the method {}, which is not read", key, Quoted(method));

  Result<QuantRule> parent = ParseRule(*section);
  if (!parent.ok()) return parent.error().In(fmt::format("`{}`", key));
  result.default_ = *parent;
  for (const auto& [module, value] : section->items()) {
    if (value.is_boolean()) {
      result.overrides_[module] = value.get<bool>() ? result.default_ : std::nullopt;
    } else if (value.is_object()) {
      Result<QuantRule> rule = ParseRule(value);
      if (!rule.ok()) return rule.error().In(fmt::format("`{}`, {}", key, Quoted(module)));
      result.overrides_[module] = *std::move(rule);
    }
  }
  return result;
}

std::optional<QuantRule> QuantizationConfig::Rule(std::string_view module, bool has_scales) const {
  const auto it = overrides_.find(module);
  if (it != overrides_.end()) return it->second;
  return has_scales ? default_ : std::nullopt;
}

}  // namespace tonnage
