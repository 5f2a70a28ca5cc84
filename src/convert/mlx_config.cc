#include "convert/mlx_config.h"

#include <string>
#include <utility>

#include "checkpoint/gguf.h"

namespace tonnage {
namespace {

constexpr const char* kInterleaved = "rope_interleaved";

Status AddTokenIds(const Gguf& gguf, Json& config) {
  for (const auto& [key, name] : {std::pair{"bos_token_id", "tokenizer.ggml.bos_token_id"},
                                  {"eos_token_id", "tokenizer.ggml.eos_token_id"}}) {
    ASSIGN_OR_RETURN(const auto id, gguf.Get<std::int64_t>(name));
    if (id) config[key] = *id;
  }
  return {};
}

// `rope_parameters` also as `rope_theta` and `rope_scaling`.
void AddOlderRope(Json& config) {
  const Json* found = JsonFind(config, "rope_parameters");
  if (found == nullptr || !found->is_object()) return;
  const Json rope = *found;  // a copy: adding members moves those that there are
  const Json* theta = JsonFind(rope, "rope_theta");
  if (theta != nullptr && JsonFind(config, "rope_theta") == nullptr) config["rope_theta"] = *theta;
  const Json* type = JsonFind(rope, "rope_type");
  if (type == nullptr || *type == "default" || JsonFind(config, "rope_scaling") != nullptr) return;
  config["rope_scaling"] = rope;
}

void AddOlderExperts(Json& config) {
  const Json* experts = JsonFind(config, "num_local_experts");
  if (experts == nullptr || JsonFind(config, "num_experts") != nullptr) return;
  config["num_experts"] = Json(*experts);
}

}  // namespace

std::optional<DType> ConfigDType(const Json& config) {
  for (const char* key : {"torch_dtype", "dtype"}) {
    const Json* word = JsonFind(config, key);
    if (word == nullptr) continue;
    if (*word == "float32") return DType::kF32;
    if (*word == "float16") return DType::kF16;
    if (*word == "bfloat16") return DType::kBF16;
  }
  return std::nullopt;
}

std::int64_t TurnedHeadDim(const OpenedModel& model, std::string_view weight) {
  const Json* interleaved = JsonFind(model.config, kInterleaved);
  if (interleaved == nullptr || *interleaved != true) return 0;
  if (weight.find(".self_attn.q_proj.") == std::string_view::npos &&
      weight.find(".self_attn.k_proj.") == std::string_view::npos) {
    return 0;
  }
  const std::int64_t heads = JsonInt(model.config, "num_attention_heads", 1).value();
  return JsonInt(model.config, "head_dim", model.model.info.hidden / heads).value();
}

Result<Json> MlxConfig(const OpenedModel& model, const Json& quantization) {
  const Json* text = JsonFind(model.config, "text_config");
  Json config = text != nullptr ? *text : model.config;
  for (const std::string key : {"quantization", "quantization_config"}) config.erase(key);
  if (const Json* interleaved = JsonFind(config, kInterleaved);
      interleaved != nullptr && *interleaved == true) {
    const Json* rope = JsonFind(config, "rope_parameters");
    if (rope != nullptr && JsonFind(*rope, "partial_rotary_factor") != nullptr) {
      return Unsupported("heads of which RoPE turns a part in pairs cannot be written yet");
    }
    config.erase(kInterleaved);
  }
  if (const Gguf* gguf = model.checkpoint.gguf()) RETURN_IF_ERROR(AddTokenIds(*gguf, config));
  AddOlderRope(config);
  AddOlderExperts(config);
  if (!quantization.is_null()) {
    config["quantization"] = quantization;
    config["quantization_config"] = quantization;
  }
  return config;
}

}  // namespace tonnage
