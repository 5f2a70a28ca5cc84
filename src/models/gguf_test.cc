#include "models/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/testing.h"
#include "models/model.h"

namespace tonnage {
namespace {

using testing::GgufParts;
using testing::GgufString;
using ::testing::HasSubstr;
using testing::Raw;

constexpr std::uint32_t kF32 = 0;

// The metadata of a small llama and the one tensor that its config needs.
class TestGguf {
 public:
  TestGguf() {
    Text("general.architecture", "llama");
    Int("llama.block_count", 2);
    Int("llama.embedding_length", 8);
    Int("llama.feed_forward_length", 12);
    Int("llama.context_length", 128);
    Int("llama.attention.head_count", 2);
    Float("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    Tensor("token_embd.weight", {8, 5});
  }
  void Text(const std::string& key, std::string_view value) {
    parts_.Add(key, GgufType::kString, GgufString(value));
  }
  void Int(const std::string& key, std::uint32_t value) {
    parts_.Add(key, GgufType::kU32, Raw(value));
  }
  void Float(const std::string& key, float value) { parts_.Add(key, GgufType::kF32, Raw(value)); }
  // Extents innermost first; every element is 2.
  void Tensor(const std::string& name, const std::vector<std::uint64_t>& extents) {
    std::uint64_t elements = 1;
    for (std::uint64_t extent : extents) elements *= extent;
    parts_.tensors.push_back(testing::GgufTensorInfo(name, extents, kF32, parts_.data.size()));
    for (std::uint64_t i = 0; i < elements; ++i) parts_.data += Raw(2.0f);
    parts_.data.resize((parts_.data.size() + 31) / 32 * 32);
  }
  // Drops the entry `key`.
  void Remove(const std::string& key) {
    std::erase_if(parts_.entries,
                  [&](const std::string& entry) { return entry.starts_with(GgufString(key)); });
  }
  Result<Json> Config() const {
    const testing::TemporaryFolder folder;
    ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                     Checkpoint::Open(folder.Write("model.gguf", parts_.Build())));
    return ConfigFromGguf(checkpoint);
  }

 private:
  GgufParts parts_;
};

Json ConfigOf(const TestGguf& gguf) {
  const Result<Json> config = gguf.Config();
  EXPECT_TRUE(config.ok()) << config.error().message();
  return config.ok() ? *config : Json::object();
}

TEST(Gguf, MetadataBecomesAConfig) {
  const Json config = ConfigOf(TestGguf());
  EXPECT_EQ(config["model_type"], "llama");
  EXPECT_EQ(config["num_hidden_layers"], 2);
  EXPECT_EQ(config["hidden_size"], 8);
  EXPECT_EQ(config["vocab_size"], 5);
  EXPECT_EQ(config["tie_word_embeddings"], true);
  EXPECT_EQ(config["rope_interleaved"], true);
  EXPECT_EQ(config["rope_parameters"]["rope_theta"], 10000.0);
  const Result<Model> model = BuildModel(config);
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(model->cache.layers[0].k_dim, 4);
}

TEST(Gguf, TensorsSayWhatMetadataDoesNot) {
  TestGguf gguf;
  gguf.Tensor("output.weight", {8, 5});
  gguf.Tensor("blk.0.attn_q.bias", {8});
  gguf.Tensor("rope_freqs.weight", {2});
  const Json config = ConfigOf(gguf);
  EXPECT_EQ(config["tie_word_embeddings"], false);
  EXPECT_EQ(config["attention_bias"], true);
  EXPECT_EQ(config["mlp_bias"], false);
  EXPECT_EQ(config["rope_parameters"]["rope_type"], "factors");
  EXPECT_EQ(config["rope_parameters"]["factors"], (Json{2.0, 2.0}));
  EXPECT_TRUE(BuildModel(config).ok());
}

TEST(Gguf, ScalingBecomesRopeParameters) {
  TestGguf gguf;
  gguf.Float("llama.rope.freq_base", 5e5f);
  gguf.Int("llama.rope.dimension_count", 2);
  gguf.Text("llama.rope.scaling.type", "yarn");
  gguf.Float("llama.rope.scaling.factor", 4);
  gguf.Int("llama.rope.scaling.original_context_length", 64);
  const Json rope = ConfigOf(gguf)["rope_parameters"];
  EXPECT_EQ(rope["rope_type"], "yarn");
  EXPECT_EQ(rope["rope_theta"], 5e5);
  EXPECT_EQ(rope["factor"], 4.0);
  EXPECT_EQ(rope["original_max_position_embeddings"], 64);
  EXPECT_EQ(rope["partial_rotary_factor"], 0.5);
}

TEST(Gguf, MoreRotatedDimensionsThanAHeadHasAreRefused) {
  TestGguf gguf;
  gguf.Int("llama.rope.dimension_count", 8);
  const Result<Model> model = BuildModel(ConfigOf(gguf));
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message(), HasSubstr("`partial_rotary_factor` is 2"));
}

TEST(Gguf, LlamaWithAWindowIsMistral) {
  TestGguf gguf;
  gguf.Int("llama.attention.sliding_window", 32);
  const Json config = ConfigOf(gguf);
  EXPECT_EQ(config["model_type"], "mistral");
  EXPECT_EQ(BuildModel(config)->cache.layers[1].window, 32);
}

TEST(Gguf, RefusesByName) {
  const std::pair<std::function<void(TestGguf&)>, std::string_view> cases[] = {
      {[](TestGguf& g) { g.Remove("general.architecture"); }, "general.architecture"},
      {[](TestGguf& g) {
         g.Remove("general.architecture");
         g.Text("general.architecture", "rwkv7");
       },
       "GGUF architecture `rwkv7` is not supported; llama, qwen2"},
      {[](TestGguf& g) { g.Remove("llama.block_count"); }, "llama.block_count"},
      {[](TestGguf& g) { g.Remove("llama.attention.layer_norm_rms_epsilon"); }, "rms_epsilon"},
      {[](TestGguf& g) { g.Int("llama.expert_count", 8); }, "with experts"},
      {[](TestGguf& g) { g.Text("llama.rope.scaling.type", "spiral"); }, "`spiral`"},
      {[](TestGguf& g) { g.Text("llama.rope.scaling.type", "yarn"); }, "llama.rope.scaling.factor"},
      {[](TestGguf& g) {
         g.Text("llama.rope.scaling.type", "yarn");
         g.Float("llama.rope.scaling.factor", 4);
         g.Float("llama.rope.scaling.attn_factor", 1.5);
       },
       "llama.rope.scaling.attn_factor is 1.5"},
      {[](TestGguf& g) {
         g.Tensor("rope_freqs.weight", {2, 1, 1});
       },
       "must be a vector"},
      {[](TestGguf& g) {
         g.Int("llama.attention.key_length", 4);
         g.Int("llama.attention.value_length", 8);
       },
       "keys of 4 and values of 8"},
  };
  for (const auto& [spoil, message] : cases) {
    TestGguf gguf;
    spoil(gguf);
    const Result<Json> config = gguf.Config();
    ASSERT_FALSE(config.ok()) << message;
    EXPECT_THAT(config.error().message(), HasSubstr(message));
  }
}

TEST(Gguf, NamesTensorsAsLlamaCppDoes) {
  EXPECT_EQ(GgufTensorName("model.embed_tokens.weight"), "token_embd.weight");
  EXPECT_EQ(GgufTensorName("model.norm.weight"), "output_norm.weight");
  EXPECT_EQ(GgufTensorName("lm_head.weight"), "output.weight");
  EXPECT_EQ(GgufTensorName("model.layers.12.self_attn.q_proj.bias"), "blk.12.attn_q.bias");
  EXPECT_EQ(GgufTensorName("model.layers.0.mlp.gate.weight"), "blk.0.ffn_gate_inp.weight");
  EXPECT_EQ(GgufTensorName("model.layers.0.mlp.gate_proj.weight"), "blk.0.ffn_gate.weight");
  EXPECT_EQ(GgufTensorName("model.layers.0.mlp.experts.up_proj.weight"),
            "blk.0.ffn_up_exps.weight");
  EXPECT_EQ(GgufTensorName("other.weight"), "other.weight");
}

}  // namespace
}  // namespace tonnage
