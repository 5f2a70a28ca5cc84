// Checkpoints in every quantized format that models are kept in, as whole models: what is computed
// from the stored blocks is what is computed from the numbers that those blocks stand for.

#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "checkpoint/gguf.h"
#include "checkpoint/testing.h"
#include "quant/pack.h"
#include "quant/unpack.h"
#include "test_host.h"

namespace tonnage {
namespace {

using testing::GgufParts;
using testing::GgufString;
using testing::GgufTensorInfo;
using testing::GgufTypeId;
using testing::Raw;
using testing::TemporaryFolder;

using ByteVector = std::vector<std::uint8_t>;

std::vector<float> Numbers(const WeightView& weight) {
  const std::int64_t rows = weight.experts * weight.n;
  std::vector<float> numbers(static_cast<size_t>(rows * weight.k));
  for (std::int64_t row = 0; row < rows; ++row) {
    UnpackRow(weight, row, {numbers.data() + row * weight.k, static_cast<size_t>(weight.k)});
  }
  return numbers;
}

std::string_view AsText(const ByteVector& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
ByteVector FloatBytes(const std::vector<float>& numbers) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(numbers.data());
  return {bytes, bytes + 4 * numbers.size()};
}

std::vector<float> Logits(const std::string& path, const std::vector<std::int32_t>& ids) {
  TestHost host;
  auto engine = host.LoadEngine(
      path, {.kv_dtype = DType::kF32, .precision = Precision::kExact, .logit_rows = 64});
  EXPECT_TRUE(engine.ok()) << engine.error().message();
  if (!engine.ok()) return {};
  auto logits = (*engine)->Evaluate(ids);
  EXPECT_TRUE(logits.ok()) << logits.error().message();
  return logits.ok() ? *std::move(logits) : std::vector<float>();
}

void ExpectSameLogits(const std::string& quantized, const std::string& numbers,
                      const std::string& golden) {
  const std::vector<std::int32_t> ids = ReadGolden(kGolden + "models/" + golden).input_ids;
  const std::vector<float> got = Logits(quantized, ids), wanted = Logits(numbers, ids);
  ASSERT_EQ(got.size(), wanted.size());
  ASSERT_FALSE(got.empty());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-4) << i;
}

// A folder's tensors, quantized as MLX keeps them or as the numbers that they then stand for.
struct MlxCopy {
  std::deque<ByteVector> storage;
  std::vector<SafetensorsTensor> tensors;

  void Add(const std::string& name, std::string_view type, std::vector<std::int64_t> shape,
           ByteVector bytes) {
    storage.push_back(std::move(bytes));
    tensors.push_back({name, FindSafetensorsType(type), std::move(shape), storage.back()});
  }
  void Write(const TemporaryFolder& folder, const Json& config) const {
    folder.Write("config.json", DumpJson(config));
    EXPECT_TRUE(WriteSafetensors(folder.path() + "/model.safetensors", tensors).ok());
  }
};

void CopyAsMlx(const Checkpoint& from, const Format& format, MlxCopy& quantized, MlxCopy& numbers) {
  constexpr std::string_view kWeight = ".weight";
  for (const WeightInfo& weight : from.weights()) {
    const WeightView view = weight.View();
    std::vector<std::int64_t> shape;
    for (int i = 0; i < weight.shape.rank(); ++i) shape.push_back(weight.shape[i]);
    if (weight.shape.rank() != 2 || !weight.name.ends_with(kWeight)) {
      for (MlxCopy* copy : {&quantized, &numbers}) {
        copy->Add(weight.name, "F32", shape, FloatBytes(Numbers(view)));
      }
      continue;
    }
    QuantizedWeight packed = Pack(format, 1, view.n, view.k, Numbers(view));
    numbers.Add(weight.name, "F32", shape, FloatBytes(Numbers(packed.View())));
    const std::string module = weight.name.substr(0, weight.name.size() - kWeight.size());
    const std::vector<std::int64_t> groups = {view.n, view.k / format.group};
    quantized.Add(weight.name, "U32", {view.n, view.k * format.bits / 32}, std::move(packed.data));
    quantized.Add(module + ".scales", "BF16", groups, std::move(packed.scales));
    quantized.Add(module + ".biases", "BF16", groups, std::move(packed.biases));
  }
}

TEST(QuantizedCheckpoint, MlxAffineComputesWithItsNumbers) {
  for (const std::string name : {"llama", "llama_tied", "qwen2", "qwen3_moe"}) {
    const auto original = Checkpoint::Open(kGolden + "models/" + name);
    ASSERT_TRUE(original.ok()) << original.error().message();
    for (const int bits : {4, 8}) {
      for (const int group : {32, 64}) {
        SCOPED_TRACE(fmt::format("{}, {} bits, groups of {}", name, bits, group));
        MlxCopy quantized, numbers;
        CopyAsMlx(*original, Format::Affine(bits, group, DType::kBF16), quantized, numbers);
        Json config = original->config();
        const TemporaryFolder numbers_folder, quantized_folder;
        numbers.Write(numbers_folder, config);
        config["quantization"] = {{"group_size", group}, {"bits", bits}};
        quantized.Write(quantized_folder, config);
        ExpectSameLogits(quantized_folder.path(), numbers_folder.path(), name);
      }
    }
  }
}

// The same metadata, and room for tensors of other types.
GgufParts CopyMetadata(const Gguf& from) {
  GgufParts parts;
  for (const GgufEntry& entry : from.metadata()) {
    const std::string bytes(entry.bytes.begin(), entry.bytes.end());
    const std::string elements(entry.array.bytes.begin(), entry.array.bytes.end());
    parts.Add(entry.key, entry.type,
              entry.type == GgufType::kString ? GgufString(bytes)
              : entry.type == GgufType::kArray
                  ? GgufTypeId(entry.array.type) + Raw(entry.array.count) + elements
                  : bytes);
  }
  return parts;
}

void AddTensor(GgufParts& parts, const WeightInfo& weight, std::uint32_t type,
               std::string_view bytes) {
  std::vector<std::uint64_t> extents;
  for (int i = weight.shape.rank(); i > 0; --i) {
    extents.push_back(static_cast<std::uint64_t>(weight.shape[i - 1]));
  }
  parts.tensors.push_back(GgufTensorInfo(weight.name, extents, type, parts.data.size()));
  parts.data += bytes;
  parts.data.resize(static_cast<size_t>(RoundUp(static_cast<Bytes>(parts.data.size()), 32)));
}

TEST(QuantizedCheckpoint, GgufBlocksComputeWithTheirNumbers) {
  constexpr std::uint32_t kF32 = 0;
  const std::pair<FormatKind, std::uint32_t> kinds[] = {{FormatKind::kF16, 1},
                                                        {FormatKind::kQ4_0, 2},
                                                        {FormatKind::kQ4_1, 3},
                                                        {FormatKind::kQ8_0, 8},
                                                        {FormatKind::kBF16, 30}};
  for (const std::string name : {"llama", "qwen3_moe"}) {
    const auto original = Checkpoint::Open(kGolden + "gguf/" + name + ".gguf");
    ASSERT_TRUE(original.ok()) << original.error().message();
    for (const auto& [kind, type] : kinds) {
      SCOPED_TRACE(name + ", " + Format::Of(kind).Name());
      GgufParts quantized = CopyMetadata(*original->gguf());
      GgufParts numbers = quantized;
      for (const WeightInfo& weight : original->weights()) {
        const WeightView view = weight.View();
        if (weight.shape.rank() < 2) {
          for (GgufParts* parts : {&quantized, &numbers}) {
            AddTensor(*parts, weight, kF32, AsText(FloatBytes(Numbers(view))));
          }
          continue;
        }
        const QuantizedWeight packed =
            Pack(Format::Of(kind), view.experts, view.n, view.k, Numbers(view));
        AddTensor(quantized, weight, type, AsText(packed.data));
        AddTensor(numbers, weight, kF32, AsText(FloatBytes(Numbers(packed.View()))));
      }
      const TemporaryFolder folder;
      ExpectSameLogits(folder.Write("quantized.gguf", quantized.Build()),
                       folder.Write("numbers.gguf", numbers.Build()), name);
    }
  }
}

}  // namespace
}  // namespace tonnage
