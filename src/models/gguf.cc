#include "models/gguf.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "checkpoint/gguf.h"
#include "checkpoint/quoted.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

struct GgufArchitecture {
  std::string_view name;
  std::string_view model_type;
  // The converter reorders the rows of q and k, so that RoPE turns neighbours.
  bool interleaved;
};
constexpr GgufArchitecture kArchitectures[] = {
    {"llama", "llama", true},         {"qwen2", "qwen2", false},    {"qwen3", "qwen3", false},
    {"qwen3moe", "qwen3_moe", false}, {"smollm3", "smollm3", true},
};

// Metadata keys, behind the architecture's name, and the config keys that say the same.
struct IntKey {
  std::string_view gguf;
  std::string_view config;
  bool required;
};
constexpr IntKey kIntKeys[] = {
    {"block_count", "num_hidden_layers", true},
    {"embedding_length", "hidden_size", true},
    {"feed_forward_length", "intermediate_size", true},
    {"context_length", "max_position_embeddings", true},
    {"attention.head_count", "num_attention_heads", true},
    {"attention.head_count_kv", "num_key_value_heads", false},
    {"attention.key_length", "head_dim", false},
    {"expert_used_count", "num_experts_per_tok", false},
    {"expert_feed_forward_length", "moe_intermediate_size", false},
};

struct Name {
  std::string_view ours;
  std::string_view gguf;
};
constexpr Name kOutsideNames[] = {
    {"model.embed_tokens.", "token_embd."},
    {"model.norm.", "output_norm."},
    {"lm_head.", "output."},
};
constexpr Name kLayerNames[] = {
    {"input_layernorm.", "attn_norm."},
    {"self_attn.q_proj.", "attn_q."},
    {"self_attn.k_proj.", "attn_k."},
    {"self_attn.v_proj.", "attn_v."},
    {"self_attn.o_proj.", "attn_output."},
    {"self_attn.q_norm.", "attn_q_norm."},
    {"self_attn.k_norm.", "attn_k_norm."},
    {"post_attention_layernorm.", "ffn_norm."},
    {"mlp.gate_proj.", "ffn_gate."},
    {"mlp.up_proj.", "ffn_up."},
    {"mlp.down_proj.", "ffn_down."},
    {"mlp.gate.", "ffn_gate_inp."},
    {"mlp.experts.gate_proj.", "ffn_gate_exps."},
    {"mlp.experts.up_proj.", "ffn_up_exps."},
    {"mlp.experts.down_proj.", "ffn_down_exps."},
};

// `name` with its beginning replaced by the row that fits, or unchanged.
template <size_t kRows>
std::string Renamed(std::string_view name, const Name (&rows)[kRows]) {
  for (const Name& row : rows) {
    if (name.starts_with(row.ours)) {
      return std::string(row.gguf) + std::string(name.substr(row.ours.size()));
    }
  }
  return std::string(name);
}

// Collects the config of one file.
class Converter {
 public:
  Converter(const Checkpoint& checkpoint, const GgufArchitecture& architecture)
      : checkpoint_(checkpoint), gguf_(*checkpoint.gguf()), architecture_(architecture) {}

  Result<Json> Run() {
    config_["model_type"] = architecture_.model_type;
    for (const IntKey& key : kIntKeys) RETURN_IF_ERROR(CopyInt(key));
    RETURN_IF_ERROR(CopyEpsilon());
    RETURN_IF_ERROR(TakeVocab());
    RETURN_IF_ERROR(TakeExperts());
    RETURN_IF_ERROR(TakeWindow());
    RETURN_IF_ERROR(CheckValueLength());
    config_["tie_word_embeddings"] = checkpoint_.Find("output.weight") == nullptr;
    config_["attention_bias"] = checkpoint_.Find("blk.0.attn_q.bias") != nullptr;
    config_["mlp_bias"] = checkpoint_.Find("blk.0.ffn_gate.bias") != nullptr;
    RETURN_IF_ERROR(TakeRope());
    return config_;
  }

 private:
  std::string Key(std::string_view key) const {
    return fmt::format("{}.{}", architecture_.name, key);
  }
  template <typename T>
  Result<std::optional<T>> Get(std::string_view key) const {
    return gguf_.Get<T>(Key(key));
  }

  Status CopyInt(const IntKey& key) {
    if (key.required) {
      ASSIGN_OR_RETURN(config_[std::string(key.config)],
                       gguf_.Require<std::int64_t>(Key(key.gguf)));
      return {};
    }
    ASSIGN_OR_RETURN(const auto value, Get<std::int64_t>(key.gguf));
    if (value) config_[std::string(key.config)] = *value;
    return {};
  }

  Status CopyEpsilon() {
    ASSIGN_OR_RETURN(config_["rms_norm_eps"],
                     gguf_.Require<double>(Key("attention.layer_norm_rms_epsilon")));
    return {};
  }

  Status TakeVocab() {
    ASSIGN_OR_RETURN(const WeightInfo* table, checkpoint_.Require("token_embd.weight"));
    if (table->shape.rank() != 2) {
      return Unreadable("tensor `token_embd.weight` has the shape {}, not [vocab, hidden]",
                        table->shape.ToString());
    }
    config_["vocab_size"] = table->shape[0];
    return {};
  }

  Status TakeExperts() {
    ASSIGN_OR_RETURN(const auto experts, Get<std::int64_t>("expert_count"));
    if (experts.value_or(0) == 0) return {};
    if (architecture_.model_type != "qwen3_moe") {
      return Unsupported("a GGUF model of architecture {} with experts is not supported",
                         architecture_.name);
    }
    config_["num_experts"] = *experts;
    config_["norm_topk_prob"] = true;  // what the architecture means
    return {};
  }

  // Llama with a window is Mistral.
  Status TakeWindow() {
    ASSIGN_OR_RETURN(const auto window, Get<std::int64_t>("attention.sliding_window"));
    if (window.value_or(0) == 0 || architecture_.model_type != "llama") return {};
    config_["model_type"] = "mistral";
    config_["sliding_window"] = *window;
    return {};
  }

  Status CheckValueLength() {
    ASSIGN_OR_RETURN(const auto key_length, Get<std::int64_t>("attention.key_length"));
    ASSIGN_OR_RETURN(const auto value_length, Get<std::int64_t>("attention.value_length"));
    if (value_length && key_length && *value_length != *key_length) {
      return Unsupported("heads with keys of {} and values of {} elements are not supported",
                         *key_length, *value_length);
    }
    if (!key_length && architecture_.model_type == "qwen3") {
      // Absent means hidden / heads here, but 128 in a config.json.
      const auto hidden = config_["hidden_size"].get<std::int64_t>();
      const auto heads = config_["num_attention_heads"].get<std::int64_t>();
      if (heads > 0) config_["head_dim"] = hidden / heads;
    }
    return {};
  }

  Status TakeRope() {
    Json rope = Json::object();
    ASSIGN_OR_RETURN(const auto base, Get<double>("rope.freq_base"));
    rope["rope_theta"] = base.value_or(10000.0);
    if (architecture_.interleaved) config_["rope_interleaved"] = true;
    RETURN_IF_ERROR(TakeRotaryPart(rope));
    RETURN_IF_ERROR(TakeScaling(rope));
    RETURN_IF_ERROR(TakeFactors(rope));
    config_["rope_parameters"] = std::move(rope);
    return {};
  }

  Status TakeRotaryPart(Json& rope) {
    ASSIGN_OR_RETURN(const auto rotated, Get<std::int64_t>("rope.dimension_count"));
    if (!rotated) return {};
    ASSIGN_OR_RETURN(const std::int64_t head_dim, HeadDim());
    if (*rotated != head_dim) {
      rope["partial_rotary_factor"] = static_cast<double>(*rotated) / static_cast<double>(head_dim);
    }
    return {};
  }

  Result<std::int64_t> HeadDim() {
    ASSIGN_OR_RETURN(const auto key_length, Get<std::int64_t>("attention.key_length"));
    if (key_length) return *key_length;
    const auto heads = config_["num_attention_heads"].get<std::int64_t>();
    return heads > 0 ? config_["hidden_size"].get<std::int64_t>() / heads : 0;
  }

  Status TakeScaling(Json& rope) {
    ASSIGN_OR_RETURN(const auto type, Get<std::string_view>("rope.scaling.type"));
    if (!type || *type == "none") return {};
    if (*type != "linear" && *type != "yarn") {
      return Unsupported("rope scaling type {} in GGUF is not supported; linear and yarn are",
                         Quoted(*type));
    }
    rope["rope_type"] = *type;
    ASSIGN_OR_RETURN(rope["factor"], gguf_.Require<double>(Key("rope.scaling.factor")));
    ASSIGN_OR_RETURN(const auto original,
                     Get<std::int64_t>("rope.scaling.original_context_length"));
    if (original) rope["original_max_position_embeddings"] = *original;
    for (const auto& [gguf, config] : {std::pair{"rope.scaling.yarn_beta_fast", "beta_fast"},
                                       {"rope.scaling.yarn_beta_slow", "beta_slow"}}) {
      ASSIGN_OR_RETURN(const auto value, Get<double>(gguf));
      if (value) rope[config] = *value;
    }
    ASSIGN_OR_RETURN(const auto factor, Get<double>("rope.scaling.attn_factor"));
    if (factor && *factor != 1) {
      return Unsupported("{} is {}, but only 1 is supported", Key("rope.scaling.attn_factor"),
                         *factor);
    }
    return {};
  }

  // Llama 3's scaling comes as a tensor of divisors, one a frequency.
  Status TakeFactors(Json& rope) {
    if (checkpoint_.Find(kGgufRopeFactors) == nullptr) return {};
    ASSIGN_OR_RETURN(const WeightInfo* tensor, checkpoint_.Require(kGgufRopeFactors));
    if (tensor->shape.rank() != 1 || tensor->format.kind != FormatKind::kF32) {
      return Unreadable("tensor `{}` must be a vector of F32", kGgufRopeFactors);
    }
    if (rope.contains("rope_type")) {
      return Unsupported("tensor `{}` together with rope scaling is not supported",
                         kGgufRopeFactors);
    }
    std::vector<float> factors(static_cast<size_t>(tensor->shape[0]));
    UnpackRow(tensor->View(), 0, factors);
    rope["rope_type"] = "factors";
    rope["factors"] = factors;
    return {};
  }

  const Checkpoint& checkpoint_;
  const Gguf& gguf_;
  const GgufArchitecture& architecture_;
  Json config_ = Json::object();
};

}  // namespace

Result<Json> ConfigFromGguf(const Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(const std::string_view name,
                   checkpoint.gguf()->Require<std::string_view>("general.architecture"));
  const auto it = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  if (it == std::end(kArchitectures)) {
    std::vector<std::string_view> known;
    for (const GgufArchitecture& architecture : kArchitectures) known.push_back(architecture.name);
    return Unsupported("GGUF architecture {} is not supported; {} are", Quoted(name),
                       fmt::join(known, ", "));
  }
  return Converter(checkpoint, *it).Run();
}

std::string GgufTensorName(std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!name.starts_with(kLayers)) return Renamed(name, kOutsideNames);
  const size_t dot = name.find('.', kLayers.size());
  const std::string_view layer = name.substr(kLayers.size(), dot - kLayers.size());
  return fmt::format("blk.{}.{}", layer, Renamed(name.substr(dot + 1), kLayerNames));
}

}  // namespace tonnage
