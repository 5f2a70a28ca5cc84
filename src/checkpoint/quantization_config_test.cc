#include "checkpoint/quantization_config.h"

#include <gtest/gtest.h>

namespace tonnage {
namespace {

QuantizationConfig Parse(std::string_view text) {
  auto config = QuantizationConfig::Parse(*ParseJson(text));
  CHECK(config.ok()) << config.error().message();
  return *std::move(config);
}

TEST(QuantizationConfig, NothingSaidQuantizesNothing) {
  for (const char* text : {"{}", R"({"quantization": null})", R"({"quantization_config": null})"}) {
    EXPECT_FALSE(Parse(text).Rule("a", true));
    EXPECT_FALSE(Parse(text).Rule("a", false));
  }
}

TEST(QuantizationConfig, ScalesDecideWhereNothingIsSaid) {
  const auto config = Parse(R"({"quantization": {"group_size": 32, "bits": 8}})");
  EXPECT_EQ(config.Rule("a", true), (QuantRule{"affine", 8, 32}));
  EXPECT_FALSE(config.Rule("a", false));
}

TEST(QuantizationConfig, ExplicitEntriesWin) {
  const auto config =
      Parse(R"({"quantization": {"group_size": 64, "bits": 4, "a.off": false, "a.on": true,
                                                 "a.own": {"group_size": 32, "bits": 8}}})");
  EXPECT_FALSE(config.Rule("a.off", true));
  EXPECT_EQ(config.Rule("a.on", false), (QuantRule{"affine", 4, 64}));
  EXPECT_EQ(config.Rule("a.own", false), (QuantRule{"affine", 8, 32}));
  EXPECT_EQ(config.Rule("a.other", true), (QuantRule{"affine", 4, 64}));
}

TEST(QuantizationConfig, AnOverrideStandsAlone) {
  const auto config = Parse(R"({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4",
                                                 "router": {"group_size": 64, "bits": 8}, "empty": {},
                                                 "fp8": {"mode": "mxfp8"}}})");
  EXPECT_EQ(config.Rule("x", true), (QuantRule{"mxfp4", 4, 32}));
  EXPECT_EQ(config.Rule("router", true), (QuantRule{"affine", 8, 64}));
  EXPECT_EQ(config.Rule("empty", true), (QuantRule{"affine", 4, 64}));
  EXPECT_EQ(config.Rule("fp8", true), (QuantRule{"mxfp8", 8, 32}));
}

TEST(QuantizationConfig, EveryModeHasItsDefaults) {
  EXPECT_EQ(Parse(R"({"quantization": {}})").Rule("a", true), (QuantRule{"affine", 4, 64}));
  EXPECT_EQ(Parse(R"({"quantization": {"mode": "mxfp4"}})").Rule("a", true),
            (QuantRule{"mxfp4", 4, 32}));
  EXPECT_EQ(Parse(R"({"quantization": {"mode": "nvfp4"}})").Rule("a", true),
            (QuantRule{"nvfp4", 4, 16}));
  EXPECT_EQ(Parse(R"({"quantization": {"mode": "mxfp8"}})").Rule("a", true),
            (QuantRule{"mxfp8", 8, 32}));
}

TEST(QuantizationConfig, TheFirstOfTheTwoNamesIsRead) {
  const auto both = Parse(R"({"quantization": {"bits": 8}, "quantization_config": {"bits": 4}})");
  EXPECT_EQ(both.Rule("a", true)->bits, 8);
  EXPECT_EQ(Parse(R"({"quantization_config": {"bits": 8}})").Rule("a", true)->bits, 8);
}

TEST(QuantizationConfig, ReadsTheWordsOfOtherQuantizers) {
  const auto awq = Parse(R"({"quantization_config": {"quant_method": "awq", "bits": 4,
                              "group_size": 64, "version": "gemm", "zero_point": true}})");
  EXPECT_EQ(awq.method(), QuantMethod::kColumns);
  EXPECT_EQ(awq.columns().kind, Packing::Kind::kAwq);
  EXPECT_EQ(awq.columns().group, 64);
  EXPECT_EQ(awq.columns().zero_offset, 0);
  EXPECT_FALSE(awq.Rule("a", true));
  const auto gptq = Parse(R"({"quantization_config": {"quant_method": "gptq", "bits": 4,
                               "group_size": -1, "desc_act": true}})");
  EXPECT_EQ(gptq.columns().kind, Packing::Kind::kGptq);
  EXPECT_EQ(gptq.columns().group, -1);
  EXPECT_EQ(gptq.columns().zero_offset, 1);
  EXPECT_TRUE(gptq.columns().desc_act);
  const auto second =
      Parse(R"({"quantization_config": {"quant_method": "gptq", "checkpoint_format": "gptq_v2"}})");
  EXPECT_EQ(second.columns().zero_offset, 0);
  EXPECT_EQ(second.columns().group, 128);
  const auto fp8 = Parse(R"({"quantization_config": {"quant_method": "fp8",
                              "weight_block_size": [128, 64], "activation_scheme": "dynamic"}})");
  EXPECT_EQ(fp8.method(), QuantMethod::kFp8);
  EXPECT_EQ(fp8.fp8().block_rows, 128);
  EXPECT_EQ(fp8.fp8().block_columns, 64);
  const auto mxfp4 = Parse(R"({"quantization_config": {"quant_method": "mxfp4",
                                "modules_to_not_convert": ["model.layers.*.self_attn"]}})");
  EXPECT_EQ(mxfp4.method(), QuantMethod::kMxfp4Blocks);
  EXPECT_EQ(mxfp4.Rule("a", true), (QuantRule{"mxfp4", 4, 32}));
  const auto nvfp4 = Parse(R"({"quantization_config": {"quant_method": "compressed-tensors",
                                "format": "nvfp4-pack-quantized", "ignore": ["lm_head"]}})");
  EXPECT_EQ(nvfp4.method(), QuantMethod::kCompressedTensors);
  EXPECT_EQ(nvfp4.Rule("a", true), (QuantRule{"nvfp4", 4, 16}));
}

TEST(QuantizationConfig, RefusesNamingTheKey) {
  for (const auto& [text, part] : std::vector<std::pair<const char*, const char*>>{
           {R"({"quantization": 4})", "`quantization`"},
           {R"({"quantization": {"bits": "four"}})", "`bits`"},
           {R"({"quantization": {"bits": 4.5}})", "`bits`"},
           {R"({"quantization": {"group_size": null, "mode": 3}})", "`mode`"},
           {R"({"quantization": {"mode": "int3"}})", "`int3`"},
           {R"({"quantization": {"model.head": {"bits": []}}})", "`model.head`"},
           {R"({"quantization": {"model.head": {"mode": "q9"}}})", "`model.head`"},
           {R"({"quantization_config": {"quant_method": "quip", "bits": 4}})", "`quip`"},
           {R"({"quantization_config": {"quant_method": "awq", "bits": 3}})", "awq of 3 bits"},
           {R"({"quantization_config": {"quant_method": "awq", "version": "gemv"}})", "`gemv`"},
           {R"({"quantization_config": {"quant_method": "gptq", "bits": 8}})", "gptq of 8 bits"},
           {R"({"quantization_config": {"quant_method": "gptq", "checkpoint_format": "marlin"}})",
            "`marlin`"},
           {R"({"quantization_config": {"quant_method": "gptq", "desc_act": 1}})", "`desc_act`"},
           {R"({"quantization_config": {"quant_method": "fp8"}})", "`weight_block_size`"},
           {R"({"quantization_config": {"quant_method": "fp8", "fmt": "e5m2"}})", "`e5m2`"},
           {R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [0, 128]}})",
            "[0,128]"},
           {R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": 128}})",
            "two whole numbers"},
           {R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "dense"}})",
            "`dense`"},
           {R"({"text_config": {"quantization_config": {"quant_method": "quip"}}})", "`quip`"},
           {R"({"quantization_config": {"quant_method": 1}})", "`quant_method`"}}) {
    SCOPED_TRACE(text);
    auto config = QuantizationConfig::Parse(*ParseJson(text));
    ASSERT_FALSE(config.ok());
    EXPECT_NE(config.error().message().find(part), std::string::npos) << config.error().message();
  }
}

}  // namespace
}  // namespace tonnage
