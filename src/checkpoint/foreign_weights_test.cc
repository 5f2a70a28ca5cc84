// Layers of other quantizers, packed here element by element as their own programs define them.
#include "checkpoint/foreign_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "checkpoint/testing.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kN = 264, kK = 256;

// The tensors of a folder, with bytes of their own.
class Tensors {
 public:
  void Set(const std::string& name, std::string_view type, std::vector<std::int64_t> shape,
           std::string bytes) {
    rows_[name] = {type, std::move(shape), std::move(bytes)};
  }
  // The same with zeros.
  void Set(const std::string& name, std::string_view type, std::vector<std::int64_t> shape) {
    std::int64_t bytes = FindSafetensorsType(type)->bits / 8;
    for (const std::int64_t extent : shape) bytes *= extent;
    Set(name, type, std::move(shape), std::string(static_cast<size_t>(bytes), '\0'));
  }
  void Remove(const std::string& name) { rows_.erase(name); }

  Result<std::vector<WeightInfo>> Read(const std::string& config) const {
    std::vector<SafetensorsTensor> tensors;
    for (const auto& [name, row] : rows_) {
      tensors.push_back(testing::MakeTensor(name, row.type, row.shape, row.bytes));
    }
    return WeightsFromSafetensors(tensors, *QuantizationConfig::Parse(*ParseJson(config)));
  }

 private:
  struct Row {
    std::string_view type;
    std::vector<std::int64_t> shape;
    std::string bytes;
  };
  std::map<std::string, Row> rows_;
};

std::string Config(std::string_view method, std::int64_t group, std::string_view more = "") {
  return fmt::format(R"({{"quantization_config": {{"quant_method": "{}", "bits": 4,
                          "group_size": {}{}}}}})",
                     method, group, more);
}

// Every row of the weight, read in the given blocks.
std::vector<float> Numbers(const WeightInfo& weight, std::int64_t block_rows) {
  const PackedTensors tensors = weight.Tensors();
  std::vector<float> numbers;
  std::vector<float> row(static_cast<size_t>(tensors.k));
  for (std::int64_t first = 0; first < tensors.n; first += block_rows) {
    const std::int64_t count = std::min(block_rows, tensors.n - first);
    std::vector<std::uint8_t> staging(static_cast<size_t>(PackedStagingBytes(tensors, count)));
    const WeightView view = ReadPackedRows(tensors, first, count, staging);
    for (std::int64_t i = 0; i < count; ++i) {
      UnpackRow(view, i, row);
      numbers.insert(numbers.end(), row.begin(), row.end());
    }
  }
  return numbers;
}

// Random codes, scales (powers of two, so that nothing is rounded) and zeros of one layer.
struct Layer {
  std::int64_t group;
  std::vector<int> codes;      // [n, k]
  std::vector<int> exponents;  // [n, groups]
  std::vector<int> zeros;      // [n, groups]

  explicit Layer(std::int64_t group_size) : group(group_size) {
    std::mt19937 random(7);
    const auto fill = [&](std::vector<int>& out, std::int64_t count, int low, int high) {
      std::uniform_int_distribution<int> any(low, high);
      for (std::int64_t i = 0; i < count; ++i) out.push_back(any(random));
    };
    fill(codes, kN * kK, 0, 15);
    fill(exponents, kN * (kK / group), -6, 3);
    fill(zeros, kN * (kK / group), 1, 15);
  }
  size_t At(std::int64_t n, std::int64_t k) const {
    return static_cast<size_t>(n * (kK / group) + k / group);
  }
  std::vector<float> Numbers() const {
    std::vector<float> numbers;
    for (std::int64_t n = 0; n < kN; ++n) {
      for (std::int64_t k = 0; k < kK; ++k) {
        const int code = codes[static_cast<size_t>(n * kK + k)];
        numbers.push_back(
            std::ldexp(static_cast<float>(code - zeros[At(n, k)]), exponents[At(n, k)]));
      }
    }
    return numbers;
  }
  // [groups, n] in F16.
  std::string Scales() const {
    std::string bytes;
    for (std::int64_t k = 0; k < kK; k += group) {
      for (std::int64_t n = 0; n < kN; ++n)
        bytes += testing::Raw(F32ToF16(std::ldexp(1.f, exponents[At(n, k)])));
    }
    return bytes;
  }
};

// Words of eight values of consecutive columns; nibble i of a word is column order[i].
std::string PackColumns(std::int64_t rows, const std::function<int(std::int64_t, std::int64_t)>& at,
                        const int (&order)[8]) {
  std::string bytes;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t n = 0; n < kN; n += 8) {
      std::uint32_t word = 0;
      for (int i = 0; i < 8; ++i)
        word |= static_cast<std::uint32_t>(at(row, n + order[i])) << 4 * i;
      bytes += testing::Raw(word);
    }
  }
  return bytes;
}

Tensors AwqTensors(const Layer& layer) {
  constexpr int kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  Tensors tensors;
  tensors.Set("a.qweight", "I32", {kK, kN / 8},
              PackColumns(
                  kK,
                  [&](std::int64_t k, std::int64_t n) {
                    return layer.codes[static_cast<size_t>(n * kK + k)];
                  },
                  kOrder));
  tensors.Set(
      "a.qzeros", "I32", {kK / layer.group, kN / 8},
      PackColumns(
          kK / layer.group,
          [&](std::int64_t g, std::int64_t n) { return layer.zeros[layer.At(n, g * layer.group)]; },
          kOrder));
  tensors.Set("a.scales", "F16", {kK / layer.group, kN}, layer.Scales());
  return tensors;
}

Tensors GptqTensors(const Layer& layer, int zero_offset) {
  constexpr int kOrder[] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::string codes, g_idx;
  for (std::int64_t k = 0; k < kK; k += 8) {
    for (std::int64_t n = 0; n < kN; ++n) {
      std::uint32_t word = 0;
      for (int i = 0; i < 8; ++i) {
        const int code = layer.codes[static_cast<size_t>(n * kK + k + i)];
        word |= static_cast<std::uint32_t>(code) << 4 * i;
      }
      codes += testing::Raw(word);
    }
  }
  for (std::int64_t k = 0; k < kK; ++k)
    g_idx += testing::Raw(static_cast<std::int32_t>(k / layer.group));
  Tensors tensors;
  tensors.Set("a.qweight", "I32", {kK / 8, kN}, codes);
  tensors.Set("a.qzeros", "I32", {kK / layer.group, kN / 8},
              PackColumns(
                  kK / layer.group,
                  [&](std::int64_t g, std::int64_t n) {
                    return layer.zeros[layer.At(n, g * layer.group)] - zero_offset;
                  },
                  kOrder));
  tensors.Set("a.scales", "F16", {kK / layer.group, kN}, layer.Scales());
  tensors.Set("a.g_idx", "I32", {kK}, g_idx);
  return tensors;
}

void ExpectNumbers(const Result<std::vector<WeightInfo>>& weights, const Layer& layer) {
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  ASSERT_EQ(weights->size(), 1u);
  const WeightInfo& weight = (*weights)[0];
  EXPECT_EQ(weight.name, "a.weight");
  EXPECT_EQ(weight.unsupported, "");
  EXPECT_EQ(weight.shape, (Shape{kN, kK}));
  for (const std::int64_t block_rows : {kN, std::int64_t{128}, std::int64_t{8}}) {
    EXPECT_EQ(Numbers(weight, block_rows), layer.Numbers()) << block_rows;
  }
}

TEST(ForeignWeights, ColumnsBecomeTheirRows) {
  for (const std::int64_t group : {32, 64, 128, 256}) {
    SCOPED_TRACE(group);
    const Layer layer(group);
    ExpectNumbers(AwqTensors(layer).Read(Config("awq", group)), layer);
    ExpectNumbers(GptqTensors(layer, 1).Read(Config("gptq", group)), layer);
    ExpectNumbers(
        GptqTensors(layer, 0).Read(Config("gptq", group, R"(, "checkpoint_format": "gptq_v2")")),
        layer);
    ExpectNumbers(GptqTensors(layer, 1).Read(Config("gptq", group, R"(, "desc_act": true)")),
                  layer);
  }
  const Layer whole(kK);
  ExpectNumbers(GptqTensors(whole, 1).Read(Config("gptq", -1)), whole);
}

TEST(ForeignWeights, ASymmetricLayerHasZerosOfEight) {
  Layer layer(128);
  std::fill(layer.zeros.begin(), layer.zeros.end(), 8);
  Tensors awq = AwqTensors(layer), gptq = GptqTensors(layer, 1);
  awq.Remove("a.qzeros");
  gptq.Remove("a.qzeros");
  ExpectNumbers(awq.Read(Config("awq", 128)), layer);
  ExpectNumbers(gptq.Read(Config("gptq", 128)), layer);
}

TEST(ForeignWeights, GroupsOutOfOrderAreRefused) {
  const Layer layer(128);
  Tensors tensors = GptqTensors(layer, 1);
  std::string g_idx;
  for (std::int64_t k = 0; k < kK; ++k) g_idx += testing::Raw(static_cast<std::int32_t>(k % 2));
  tensors.Set("a.g_idx", "I32", {kK}, g_idx);
  for (const char* more : {"", R"(, "desc_act": true)"}) {
    const auto weights = tensors.Read(Config("gptq", 128, more));
    ASSERT_TRUE(weights.ok());
    EXPECT_THAT((*weights)[0].unsupported, HasSubstr("`a.g_idx` puts elements into groups out of"));
  }
  // Without desc_act, zeros stand for what is not said.
  tensors.Set("a.g_idx", "I32", {kK});
  ExpectNumbers(tensors.Read(Config("gptq", 128)), layer);
  EXPECT_NE((*tensors.Read(Config("gptq", 128, R"(, "desc_act": true)")))[0].unsupported, "");
}

std::string Bytes(std::int64_t count, const std::function<int(std::int64_t)>& at) {
  std::string bytes;
  for (std::int64_t i = 0; i < count; ++i) bytes += static_cast<char>(at(i));
  return bytes;
}

const WeightInfo& Only(const Result<std::vector<WeightInfo>>& weights) {
  CHECK(weights.ok()) << weights.error().message();
  CHECK_EQ(weights->size(), size_t{1});
  CHECK(weights->front().unsupported.empty()) << weights->front().unsupported;
  return weights->front();
}

TEST(ForeignWeights, Fp8BlocksShareAScale) {
  // Codes of 1.0; a scale of 2^(row block) * 3^(column block).
  Tensors tensors;
  std::string scales;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 2; ++column)
      scales += testing::Raw(std::ldexp(column == 0 ? 1.f : 3.f, row));
  }
  tensors.Set("a.weight", "F8_E4M3", {kN, kK}, std::string(kN * kK, '\x38'));
  tensors.Set("a.weight_scale_inv", "F32", {3, 2}, scales);
  const auto weights = tensors.Read(
      R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  const WeightInfo& weight = Only(weights);
  EXPECT_EQ(weight.name, "a.weight");
  for (const std::int64_t block_rows : {kN, std::int64_t{128}}) {
    const std::vector<float> numbers = Numbers(weight, block_rows);
    for (std::int64_t i = 0; i < kN * kK; ++i) {
      const float wanted = std::ldexp(i % kK < 128 ? 1.f : 3.f, static_cast<int>(i / kK / 128));
      ASSERT_EQ(numbers[static_cast<size_t>(i)], wanted) << i;
    }
  }
}

TEST(ForeignWeights, Mxfp4BlocksAreMlxsRows) {
  // Byte i holds the codes i % 16 and 15 - i % 16; all scales are 2.
  constexpr float kE2m1[] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
  Tensors tensors;
  tensors.Set("mlp.experts.down_proj_blocks", "U8", {2, 8, 3, 16},
              Bytes(2 * 8 * 3 * 16, [](std::int64_t i) { return i % 16 | (15 - i % 16) << 4; }));
  tensors.Set("mlp.experts.down_proj_scales", "U8", {2, 8, 3}, std::string(2 * 8 * 3, '\x80'));
  const auto weights = tensors.Read(R"({"quantization_config": {"quant_method": "mxfp4"}})");
  const WeightInfo& weight = Only(weights);
  EXPECT_EQ(weight.name, "mlp.experts.down_proj");
  EXPECT_EQ(weight.shape, (Shape{2, 8, 96}));
  const std::vector<float> numbers = Numbers(weight, 16);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t code = i % 2 == 0 ? i / 2 % 16 : 15 - i / 2 % 16;
    ASSERT_EQ(numbers[i], 2 * kE2m1[code]) << i;
  }
}

TEST(ForeignWeights, PackedNvfp4HasOneOverItsFactor) {
  // Codes of 1.0 (2), scales of 1.0 (0x38), and a global scale of 4: every element is 1 / 4.
  Tensors tensors;
  tensors.Set("a.weight_packed", "U8", {8, 16}, std::string(8 * 16, '\x22'));
  tensors.Set("a.weight_scale", "F8_E4M3", {8, 2}, std::string(8 * 2, '\x38'));
  tensors.Set("a.weight_global_scale", "F32", {1}, testing::Raw(4.f));
  tensors.Set("a.input_global_scale", "F32", {1}, testing::Raw(9.f));
  const auto weights = tensors.Read(R"({"quantization_config":
      {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}})");
  const WeightInfo& weight = Only(weights);
  EXPECT_EQ(weight.shape, (Shape{8, 32}));
  for (const float number : Numbers(weight, 8)) ASSERT_EQ(number, 0.25f);
}

TEST(ForeignWeights, WhatIsNotQuantizedStaysAsItIs) {
  const Layer layer(128);
  Tensors tensors = AwqTensors(layer);
  tensors.Set("a.bias", "F16", {kN});
  tensors.Set("norm.weight", "F16", {kK});
  const auto weights = tensors.Read(Config("awq", 128));
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  ASSERT_EQ(weights->size(), 3u);
  EXPECT_EQ((*weights)[0].name, "a.bias");
  EXPECT_EQ((*weights)[2].format, Format::Of(FormatKind::kF16));
}

TEST(ForeignWeights, RefusesPartsThatDoNotFitTogether) {
  struct Row {
    const char* method;
    std::int64_t group;
    std::function<void(Tensors&)> spoil;
    const char* message;
  };
  const auto set = [](const char* name, const char* type, std::vector<std::int64_t> shape) {
    return [=](Tensors& t) { t.Set(name, type, shape); };
  };
  const auto remove = [](const char* name) { return [=](Tensors& t) { t.Remove(name); }; };
  for (const Row& row :
       {Row{"awq", 128, remove("a.scales"), "`a.scales` is missing, which `a` needs"},
        Row{"awq", 128, set("a.qweight", "F32", {kK, kN / 8}), "`a.qweight` has type F32"},
        Row{"awq", 128, set("a.qweight", "I32", {kK}), "`a.qweight` has the shape [256]"},
        Row{"awq", 128, set("a.qweight", "I32", {0, 33}), "`a.qweight` has the shape [0, 33]"},
        Row{"awq", 128, set("a.scales", "F16", {kK / 128, kN / 8}), "`a.scales` has the shape"},
        Row{"awq", 128, set("a.scales", "I32", {kK / 128, kN}), "`a.scales` has type I32"},
        Row{"awq", 128, set("a.qzeros", "I32", {kN / 8, kK / 128}), "`a.qzeros` has the shape"},
        Row{"awq", 128, set("a.qzeros", "F32", {kK / 128, kN / 8}), "`a.qzeros` has type F32"},
        Row{"awq", 0, [](Tensors&) {}, "no whole groups of 0"},
        Row{"awq", 96, [](Tensors&) {}, "no whole groups of 96"},
        Row{"awq", -2, [](Tensors&) {}, "no whole groups of -2"},
        Row{"awq", 128, set("a.weight", "F16", {kN, kK}), "`a.weight` is there in two ways"},
        Row{"gptq", 128, set("a.g_idx", "I32", {kK / 2}), "`a.g_idx` has the shape [128]"},
        Row{"gptq", 128, set("a.g_idx", "F32", {kK}), "`a.g_idx` has type F32"},
        Row{"gptq", 128, set("a.qweight", "I32", {kK / 8, kN + 1}), "no whole groups"}}) {
    SCOPED_TRACE(row.message);
    Tensors tensors =
        row.method == std::string_view("awq") ? AwqTensors(Layer(128)) : GptqTensors(Layer(128), 1);
    row.spoil(tensors);
    const auto weights = tensors.Read(Config(row.method, row.group));
    ASSERT_FALSE(weights.ok());
    EXPECT_THAT(weights.error().message(), HasSubstr(row.message));
  }
  const auto odd = AwqTensors(Layer(16)).Read(Config("awq", 16));
  ASSERT_TRUE(odd.ok());
  EXPECT_THAT((*odd)[0].unsupported, HasSubstr("groups of 16, which is not read"));
}

}  // namespace
}  // namespace tonnage
