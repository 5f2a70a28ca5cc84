#include "models/architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "graph/rewrite.h"
#include "graph/validate.h"
#include "models/test_configs.h"

namespace tonnage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool HasWeight(const Model& model, std::string_view name) {
  return std::ranges::find(model.graph.weights, name, &WeightSpec::name) !=
         model.graph.weights.end();
}

int CountOps(const Model& model, Op op) {
  return static_cast<int>(std::ranges::count(model.graph.nodes, op, &Node::op));
}

std::vector<std::int64_t> Windows(const Model& model) {
  std::vector<std::int64_t> windows;
  for (const LayerCache& layer : model.cache.layers) windows.push_back(layer.window);
  return windows;
}

Model Build(const Json& config) {
  Result<Model> model = BuildModel(config);
  EXPECT_TRUE(model.ok()) << model.error().message();
  return model.ok() ? *std::move(model) : Model{};
}

TEST(Architectures, EveryOneBuildsAValidGraph) {
  for (std::string_view model_type : SupportedArchitectures()) {
    const Model model = Build(TestConfig(model_type));
    for (const Graph& graph : {model.graph, Optimize(model.graph)}) {
      const Status valid = Validate(graph, model.cache);
      EXPECT_TRUE(valid.ok()) << model_type << ": " << valid.error().message();
    }
    EXPECT_EQ(model.info.architecture, model_type);
    EXPECT_EQ(model.info.layers, 2);
    EXPECT_EQ(model.info.context_limit, 512);
  }
}

TEST(Architectures, BiasesStandWhereTheConfigHasThem) {
  Json config = TestConfig("llama");
  EXPECT_FALSE(HasWeight(Build(config), "model.layers.0.self_attn.q_proj.bias"));
  config["attention_bias"] = true;
  EXPECT_TRUE(HasWeight(Build(config), "model.layers.1.self_attn.o_proj.bias"));
  EXPECT_FALSE(HasWeight(Build(config), "model.layers.1.mlp.up_proj.bias"));
  config["mlp_bias"] = true;
  EXPECT_TRUE(HasWeight(Build(config), "model.layers.1.mlp.down_proj.bias"));

  const Model qwen2 = Build(TestConfig("qwen2"));
  EXPECT_TRUE(HasWeight(qwen2, "model.layers.0.self_attn.k_proj.bias"));
  EXPECT_FALSE(HasWeight(qwen2, "model.layers.0.self_attn.o_proj.bias"));
}

TEST(Architectures, TiedEmbeddingsHaveNoHead) {
  Json config = TestConfig("llama");
  EXPECT_TRUE(HasWeight(Build(config), "lm_head.weight"));
  config["tie_word_embeddings"] = true;
  EXPECT_FALSE(HasWeight(Build(config), "lm_head.weight"));
  // Absent, each family has its own custom.
  config.erase("tie_word_embeddings");
  EXPECT_TRUE(HasWeight(Build(config), "lm_head.weight"));
  config["model_type"] = "smollm3";
  EXPECT_FALSE(HasWeight(Build(config), "lm_head.weight"));
}

TEST(Architectures, MistralSlidesEverywhereOrNowhere) {
  Json config = TestConfig("mistral");
  EXPECT_THAT(Windows(Build(config)), ElementsAre(4096, 4096));
  config["sliding_window"] = 100;
  EXPECT_THAT(Windows(Build(config)), ElementsAre(100, 100));
  config["sliding_window"] = nullptr;
  EXPECT_THAT(Windows(Build(config)), ElementsAre(0, 0));
}

TEST(Architectures, QwenSlidesByLayer) {
  Json config = TestConfig("qwen2");
  config["sliding_window"] = 100;
  config["max_window_layers"] = 1;
  EXPECT_THAT(Windows(Build(config)), ElementsAre(0, 0));  // not without use_sliding_window
  config["use_sliding_window"] = true;
  EXPECT_THAT(Windows(Build(config)), ElementsAre(0, 100));
  config["layer_types"] = {"sliding_attention", "full_attention"};
  EXPECT_THAT(Windows(Build(config)), ElementsAre(100, 0));
  config["model_type"] = "qwen3";
  EXPECT_THAT(Windows(Build(config)), ElementsAre(100, 0));
}

TEST(Architectures, SmolLm3LeavesRopeOutOfSomeLayers) {
  Json config = TestConfig("smollm3");
  config["num_hidden_layers"] = 8;
  EXPECT_EQ(CountOps(Build(config), Op::kRope), 2 * 6);  // every fourth has none
  config["no_rope_layer_interval"] = 2;
  EXPECT_EQ(CountOps(Build(config), Op::kRope), 2 * 4);
  config["no_rope_layers"] = {1, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(CountOps(Build(config), Op::kRope), 2 * 2);
  config["use_sliding_window"] = true;
  config["sliding_window"] = 9;
  EXPECT_THAT(Windows(Build(config)), ElementsAre(0, 9, 9, 9, 9, 9, 9, 0));
}

TEST(Architectures, Qwen3NormsHeadsOfItsOwnWidth) {
  Json config = TestConfig("qwen3");
  config.erase("head_dim");
  const Model model = Build(config);
  EXPECT_EQ(model.cache.layers[0].k_dim, 128);
  EXPECT_EQ(CountOps(model, Op::kRmsNorm), 2 * 4 + 1);
}

TEST(Architectures, Qwen3MoeMixesDenseAndExpertLayers) {
  Json config = TestConfig("qwen3_moe");
  config["num_hidden_layers"] = 6;
  EXPECT_EQ(CountOps(Build(config), Op::kRoute), 6);
  config["decoder_sparse_step"] = 2;
  EXPECT_EQ(CountOps(Build(config), Op::kRoute), 3);
  config["mlp_only_layers"] = {3, 4};
  const Model model = Build(config);
  EXPECT_EQ(CountOps(model, Op::kRoute), 2);
  EXPECT_TRUE(HasWeight(model, "model.layers.3.mlp.up_proj.weight"));
  EXPECT_TRUE(HasWeight(model, "model.layers.5.mlp.experts.up_proj.weight"));
}

TEST(Architectures, ExpertCountsHaveTwoNames) {
  Json config = TestConfig("qwen3_moe");
  config.erase("num_experts");
  config["num_local_experts"] = 4;
  EXPECT_EQ(CountOps(Build(config), Op::kRoute), 2);
}

TEST(Architectures, ATextModelInsideALargerOneIsFound) {
  const Json config{{"model_type", "mistral3"},
                    {"tie_word_embeddings", true},
                    {"text_config", [] {
                       Json text = TestConfig("mistral");
                       text.erase("tie_word_embeddings");
                       return text;
                     }()}};
  const Model model = Build(config);
  EXPECT_EQ(model.info.architecture, "mistral");
  EXPECT_FALSE(HasWeight(model, "lm_head.weight"));
}

struct BadConfig {
  std::string_view model_type;
  Json changes;  // null removes the key
  std::string_view message;
};

const BadConfig kBadConfigs[] = {
    {"llama", {{"model_type", nullptr}}, "`model_type` is missing"},
    {"llama", {{"model_type", 7}}, "`model_type` must be a string"},
    {"llama", {{"model_type", "mamba9"}}, "model type `mamba9` is not supported; llama, mistral"},
    {"llama", {{"hidden_size", nullptr}}, "`hidden_size` is missing"},
    {"llama", {{"hidden_size", 0}}, "`hidden_size` is 0"},
    {"llama", {{"hidden_size", -64}}, "`hidden_size` is -64"},
    {"llama", {{"hidden_size", 1e18}}, "`hidden_size`"},
    {"llama", {{"hidden_size", "64"}}, "`hidden_size` must be a whole number"},
    {"llama", {{"num_hidden_layers", 1000000}}, "`num_hidden_layers` is 1000000"},
    {"llama", {{"vocab_size", 0}}, "`vocab_size` is 0"},
    {"llama", {{"num_key_value_heads", 3}}, "no multiple of `num_key_value_heads`, 3"},
    {"llama", {{"num_key_value_heads", 0}}, "`num_key_value_heads` is 0"},
    {"llama", {{"num_attention_heads", 6}, {"head_dim", nullptr}}, "gives no head dimension"},
    {"llama", {{"head_dim", 15}}, "would turn 15 of 15"},
    {"llama", {{"head_dim", 1 << 30}}, "`head_dim` is"},
    {"llama", {{"rms_norm_eps", 0}}, "`rms_norm_eps` is 0"},
    {"llama", {{"hidden_act", "relu2"}}, "`hidden_act` is `relu2`"},
    {"llama", {{"attention_bias", 1}}, "`attention_bias` must be true or false"},
    {"llama", {{"max_position_embeddings", 0}}, "`max_position_embeddings` is 0"},
    {"mistral", {{"sliding_window", -1}}, "`sliding_window` is -1"},
    {"qwen2", {{"layer_types", {"full_attention"}}}, "`layer_types` has 1 elements for 2"},
    {"qwen2", {{"layer_types", {"full_attention", "linear_attention"}}}, "`linear_attention`"},
    {"qwen2", {{"layer_types", {"full_attention", "sliding_attention"}}}, "no `sliding_window`"},
    {"smollm3", {{"no_rope_layers", {1}}}, "`no_rope_layers` has 1 elements for 2"},
    {"smollm3", {{"no_rope_layer_interval", 0}}, "`no_rope_layer_interval` is 0"},
    {"qwen3_moe", {{"num_experts", nullptr}}, "`num_local_experts` is missing"},
    {"qwen3_moe", {{"num_experts_per_tok", 5}}, "`num_experts_per_tok` is 5"},
    {"qwen3_moe", {{"decoder_sparse_step", 0}}, "`decoder_sparse_step` is 0"},
    {"qwen3_moe", {{"mlp_only_layers", {"x"}}}, "`mlp_only_layers` must be a whole number"},
    {"qwen3_moe", {{"moe_intermediate_size", nullptr}}, "`moe_intermediate_size` is missing"},
};

TEST(Architectures, RefusesBadConfigsByName) {
  for (const BadConfig& bad : kBadConfigs) {
    Json config = TestConfig(bad.model_type);
    for (const auto& [key, value] : bad.changes.items()) config[key] = value;
    const Result<Model> model = BuildModel(config);
    ASSERT_FALSE(model.ok()) << bad.message;
    EXPECT_THAT(model.error().message(), HasSubstr(bad.message));
  }
  EXPECT_FALSE(BuildModel(Json::array()).ok());
}

// Whatever one value of a config is replaced with, the answer is a model or an error, and a model
// is sound.
TEST(Architectures, SurvivesEveryReplacedValue) {
  const Json replacements{nullptr,
                          true,
                          -1,
                          0,
                          1,
                          2,
                          3,
                          7,
                          1025,
                          1e30,
                          0.3,
                          "",
                          "x",
                          Json::array(),
                          {1, 2},
                          Json::object(),
                          {{"rope_type", "yarn"}}};
  for (std::string_view model_type : SupportedArchitectures()) {
    Json full = TestConfig(model_type);
    for (const char* key : {"rope_theta", "rope_scaling", "rope_parameters", "layer_types",
                            "sliding_window", "use_sliding_window", "no_rope_layers",
                            "mlp_only_layers", "norm_topk_prob", "partial_rotary_factor"}) {
      full[key] = nullptr;
    }
    for (const auto& [key, original] : full.items()) {
      for (const Json& replacement : replacements) {
        Json config = full;
        config[key] = replacement;
        const Result<Model> model = BuildModel(config);
        if (!model.ok()) continue;
        const Status valid = Validate(model->graph, model->cache);
        ASSERT_TRUE(valid.ok()) << config << valid.error().message();
      }
    }
  }
}

}  // namespace
}  // namespace tonnage
