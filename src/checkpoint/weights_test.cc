// MLX's quantized layers as weights, from one in order to every way of spoiling it.
#include "checkpoint/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "checkpoint/testing.h"

namespace tonnage {
namespace {

using testing::MakeTensor;

constexpr std::string_view kFourBit = R"({"quantization": {"group_size": 64, "bits": 4}})";

// `a.weight` of [2, 128] in 4 bits and groups of 64, `a.bias`, and `norm.weight`; a test replaces
// or removes some.
class Layer {
 public:
  Layer() {
    Set("a.weight", "U32", {2, 16});
    Set("a.scales", "BF16", {2, 2});
    Set("a.biases", "BF16", {2, 2});
    Set("a.bias", "F16", {2});
    Set("norm.weight", "F32", {128});
  }
  void Set(const std::string& name, std::string_view type, std::vector<std::int64_t> shape) {
    Remove(name);
    std::int64_t bytes = FindSafetensorsType(type)->bits / 8;
    if (std::count(shape.begin(), shape.end(), 0) > 0) bytes = 0;
    for (std::int64_t extent : shape) bytes *= bytes > 0 ? extent : 1;
    tensors_.push_back(MakeTensor(name, type, std::move(shape),
                                  std::string_view(zeros_).substr(0, static_cast<size_t>(bytes))));
  }
  void Remove(const std::string& name) {
    std::erase_if(tensors_, [&](const SafetensorsTensor& tensor) { return tensor.name == name; });
  }
  Result<std::vector<WeightInfo>> Read(std::string_view config = kFourBit) {
    std::sort(tensors_.begin(), tensors_.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return WeightsFromSafetensors(tensors_, *QuantizationConfig::Parse(*ParseJson(config)));
  }

 private:
  static inline const std::string zeros_ = std::string(1 << 16, '\0');
  std::vector<SafetensorsTensor> tensors_;
};

TEST(Weights, ThreeTensorsAreOneWeight) {
  auto weights = Layer().Read();
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  ASSERT_EQ(weights->size(), 3u);
  EXPECT_EQ((*weights)[0].name, "a.bias");
  EXPECT_EQ((*weights)[0].format, Format::Of(FormatKind::kF16));
  const WeightInfo& a = (*weights)[1];
  EXPECT_EQ(a.name, "a.weight");
  EXPECT_EQ(a.format, Format::Affine(4, 64, DType::kBF16));
  EXPECT_EQ(a.shape, (Shape{2, 128}));
  EXPECT_EQ(a.stored_as, "affine 4-bit g64");
  EXPECT_EQ(a.unsupported, "");
  EXPECT_EQ(a.bytes(), 2 * FormatRowBytes(a.format, 128)->Total());
  EXPECT_EQ((*weights)[2].name, "norm.weight");
}

TEST(Weights, ExpertsKeepTheirOwnDimension) {
  Layer layer;
  layer.Set("a.weight", "U32", {3, 2, 16});
  layer.Set("a.scales", "F16", {3, 2, 1});
  layer.Set("a.biases", "F16", {3, 2, 1});
  auto weights = layer.Read(R"({"quantization": {"group_size": 64, "bits": 8}})");
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  EXPECT_EQ((*weights)[1].shape, (Shape{3, 2, 64}));
  EXPECT_EQ((*weights)[1].View().experts, 3);
}

TEST(Weights, EveryWidthOfCodesIsRead) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    Layer layer;
    layer.Set("a.weight", "U32", {2, 128 * bits / 32});
    layer.Set("a.scales", "F32", {2, 1});
    layer.Set("a.biases", "F32", {2, 1});
    auto weights =
        layer.Read(fmt::format(R"({{"quantization": {{"group_size": 128, "bits": {}}}}})", bits));
    ASSERT_TRUE(weights.ok()) << weights.error().message();
    EXPECT_EQ((*weights)[1].format, Format::Affine(bits, 128, DType::kF32));
    EXPECT_EQ((*weights)[1].unsupported, "");
  }
}

TEST(Weights, FloatModesHaveScalesInBytes) {
  struct Row {
    const char* mode;
    std::int64_t words, groups;
    FormatKind kind;
  };
  for (const Row& row :
       {Row{"mxfp4", 16, 4, FormatKind::kMxfp4}, Row{"mxfp8", 32, 4, FormatKind::kMxfp8},
        Row{"nvfp4", 16, 8, FormatKind::kNvfp4}}) {
    SCOPED_TRACE(row.mode);
    const std::string config = fmt::format(R"({{"quantization": {{"mode": "{}"}}}})", row.mode);
    Layer layer;
    layer.Remove("a.biases");
    layer.Set("a.weight", "U32", {2, row.words});
    layer.Set("a.scales", "U8", {2, row.groups});
    auto weights = layer.Read(config);
    ASSERT_TRUE(weights.ok()) << weights.error().message();
    EXPECT_EQ((*weights)[1].format, Format::Of(row.kind));
    EXPECT_EQ((*weights)[1].shape, (Shape{2, 128}));
    EXPECT_EQ((*weights)[1].bytes(), 2 * FormatRowBytes((*weights)[1].format, 128)->Total());
    layer.Set("a.scales", "BF16", {2, row.groups});
    EXPECT_FALSE(layer.Read(config).ok());
    layer.Set("a.scales", "U8", {2, 1});
    EXPECT_FALSE(layer.Read(config).ok());
  }
}

TEST(Weights, AGlobalScaleIsOneAMatrix) {
  constexpr const char* kNvfp4 = R"({"quantization": {"mode": "nvfp4"}})";
  Layer layer;
  layer.Remove("a.biases");
  layer.Set("a.weight", "U32", {3, 2, 4});
  layer.Set("a.scales", "U8", {3, 2, 2});
  layer.Set("a.global_scale", "F32", {3});
  auto weights = layer.Read(kNvfp4);
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  ASSERT_EQ(weights->size(), 3u);
  EXPECT_EQ((*weights)[1].format, Format::Of(FormatKind::kNvfp4Global));
  EXPECT_EQ((*weights)[1].packing.matrix_rows, 2);
  layer.Set("a.global_scale", "F32", {2});
  weights = layer.Read(kNvfp4);
  ASSERT_FALSE(weights.ok());
  EXPECT_NE(weights.error().message().find("`a.global_scale`"), std::string::npos);
}

TEST(Weights, WithoutARuleTheThreeStayApart) {
  for (const char* config : {"{}", R"({"quantization": {"a": false}})"}) {
    auto weights = Layer().Read(config);
    ASSERT_TRUE(weights.ok()) << weights.error().message();
    EXPECT_EQ(weights->size(), 5u);
    EXPECT_EQ((*weights)[3].name, "a.weight");
    EXPECT_NE((*weights)[3].unsupported.find("`a.weight` has type U32"), std::string::npos);
  }
}

TEST(Weights, WhatIsWellFormedButNotReadIsSaidWhenAskedFor) {
  struct Row {
    const char* config;
    std::vector<std::int64_t> weight, scales;
    const char* reason;
  };
  for (const Row& row :
       {Row{R"({"quantization": {"bits": 7, "group_size": 32}})", {2, 28}, {2, 4}, "7 bits"},
        Row{R"({"quantization": {"group_size": 16}})", {2, 16}, {2, 8}, "groups of 16"},
        Row{R"({"quantization": {"mode": "mxfp4", "group_size": 64}})",
            {2, 16},
            {2, 2},
            "mode mxfp4 of 4 bits in groups of 64"}}) {
    SCOPED_TRACE(row.config);
    Layer layer;
    layer.Set("a.weight", "U32", row.weight);
    layer.Set("a.scales", "BF16", row.scales);
    layer.Set("a.biases", "BF16", row.scales);
    auto weights = layer.Read(row.config);
    ASSERT_TRUE(weights.ok()) << weights.error().message();
    EXPECT_EQ((*weights)[1].shape, (Shape{2, 128}));
    EXPECT_NE((*weights)[1].unsupported.find("`a.weight`"), std::string::npos)
        << (*weights)[1].unsupported;
    EXPECT_NE((*weights)[1].unsupported.find(row.reason), std::string::npos)
        << (*weights)[1].unsupported;
  }
  Layer layer;
  layer.Set("conv.weight", "F32", {1, 2, 3, 1, 1});
  auto weights = layer.Read();
  ASSERT_TRUE(weights.ok());
  EXPECT_NE((*weights)[2].unsupported.find("`conv.weight` has the shape [1, 2, 3, 1, 1]"),
            std::string::npos);
}

TEST(Weights, WhatHasNoElementsCannotBeUsed) {
  Layer layer;
  layer.Set("a.weight", "U32", {0, 1 << 30});
  layer.Set("a.scales", "BF16", {0, 1 << 27});
  layer.Set("a.biases", "BF16", {0, 1 << 27});
  layer.Set("b.weight", "F32", {1ll << 61, 0});
  auto weights = layer.Read();
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  for (const size_t i : {1, 2}) {
    EXPECT_NE((*weights)[i].unsupported.find("without an element"), std::string::npos);
  }

  testing::GgufParts parts;
  parts.tensors = {testing::GgufTensorInfo("w", {1ull << 62, 0}, 2, 0)};
  const std::string file = parts.Build();
  auto gguf = Gguf::Parse(testing::AsBytes(file));
  ASSERT_TRUE(gguf.ok()) << gguf.error().message();
  EXPECT_NE(WeightsFromGguf({&*gguf, 1})[0].unsupported.find("without an element"),
            std::string::npos);
}

TEST(Weights, RefusesPartsThatDoNotFitTogether) {
  struct Row {
    const char* what;
    std::function<void(Layer&)> spoil;
    const char* config;
    const char* message;
  };
  const char* four = kFourBit.data();
  for (const Row& row : {
           Row{"no biases", [](Layer& l) { l.Remove("a.biases"); }, four, "`a.biases` is missing"},
           Row{"no scales, but an entry", [](Layer& l) { l.Remove("a.scales"); },
               R"({"quantization": {"a": {"bits": 4, "group_size": 64}}})",
               "`a.scales` is missing"},
           Row{"no weight", [](Layer& l) { l.Remove("a.weight"); }, four, "has no `a.weight`"},
           Row{"weight of another type",
               [](Layer& l) {
                 l.Set("a.weight", "F16", {2, 128});
               },
               four, "`a.weight` has type F16"},
           Row{"weight is a scalar", [](Layer& l) { l.Set("a.weight", "U32", {}); }, four,
               "`a.weight` has the shape []"},
           Row{"weight of rank 5",
               [](Layer& l) {
                 l.Set("a.weight", "U32", {1, 1, 1, 2, 16});
               },
               four, "`a.weight`"},
           Row{"half a group",
               [](Layer& l) {
                 l.Set("a.weight", "U32", {2, 12});
               },
               four, "`a.weight` has rows of 12"},
           Row{"group of 0", [](Layer&) {}, R"({"quantization": {"group_size": 0}})",
               "groups of 0"},
           Row{"bits of 0", [](Layer&) {}, R"({"quantization": {"bits": 0}})", "0 bits"},
           Row{"bits of -4", [](Layer&) {}, R"({"quantization": {"bits": -4}})", "-4 bits"},
           Row{"group of 2^62", [](Layer&) {},
               R"({"quantization": {"group_size": 4611686018427387904}})", "`a.weight`"},
           Row{"scales of another row count",
               [](Layer& l) {
                 l.Set("a.scales", "BF16", {3, 2});
               },
               four, "`a.scales` has the shape [3, 2]"},
           Row{"scales of another group",
               [](Layer& l) {
                 l.Set("a.scales", "BF16", {2, 4});
               },
               four, "`a.scales` has the shape [2, 4]"},
           Row{"scales of another rank", [](Layer& l) { l.Set("a.scales", "BF16", {4}); }, four,
               "`a.scales` has the shape [4]"},
           Row{"biases of another shape",
               [](Layer& l) {
                 l.Set("a.biases", "BF16", {2, 1});
               },
               four, "`a.biases` has the shape [2, 1]"},
           Row{"scales of no float type",
               [](Layer& l) {
                 l.Set("a.scales", "U8", {2, 2});
               },
               four, "`a.scales` has type U8"},
           Row{"biases of another type",
               [](Layer& l) {
                 l.Set("a.biases", "F16", {2, 2});
               },
               four, "`a.biases` has type F16"},
           Row{"bits of another file", [](Layer&) {}, R"({"quantization": {"bits": 8}})",
               "`a.scales` has the shape"},
       }) {
    SCOPED_TRACE(row.what);
    Layer layer;
    row.spoil(layer);
    auto weights = layer.Read(row.config);
    ASSERT_FALSE(weights.ok());
    EXPECT_NE(weights.error().message().find(row.message), std::string::npos)
        << weights.error().message();
  }
}

}  // namespace
}  // namespace tonnage
