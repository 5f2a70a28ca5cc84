// The storage formats against what their own programs write and read: MLX's quantizers, and the
// `gguf` package. In this layer because the golden files are safetensors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "checkpoint/mapped_file.h"
#include "checkpoint/safetensors.h"
#include "quant/pack.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

constexpr const char* kGoldenFolder = TONNAGE_SOURCE_DIR "/tests/golden/quant/";

struct Golden {
  explicit Golden(const std::string& path)
      : file(*MappedFile::Open(path)), tensors(*ParseSafetensors(file.bytes())) {}
  const SafetensorsTensor& Get(const std::string& name) const {
    const SafetensorsTensor* tensor = tensors.Find(name);
    CHECK(tensor != nullptr) << name;
    return *tensor;
  }
  std::vector<float> Floats(const std::string& name) const {
    const SafetensorsTensor& tensor = Get(name);
    WeightView view;
    view.n = view.k = 1;
    view.data = tensor.data.data();
    view.format = Format::Of(tensor.type->name == "F32"   ? FormatKind::kF32
                             : tensor.type->name == "F16" ? FormatKind::kF16
                                                          : FormatKind::kBF16);
    for (std::int64_t extent : tensor.shape) view.k *= extent;
    std::vector<float> out(static_cast<size_t>(view.k));
    UnpackRow(view, 0, out);
    return out;
  }

  MappedFile file;
  Safetensors tensors;
};

std::vector<std::uint8_t> Copy(std::span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

std::optional<Format> BlockFormat(std::string_view name) {
  for (auto kind = FormatKind::kF16; kind < FormatKind::kAffine;
       kind = static_cast<FormatKind>(static_cast<int>(kind) + 1)) {
    if (Format::Of(kind).Name() == name) return Format::Of(kind);
  }
  return std::nullopt;
}

TEST(QuantGolden, GgufBlocksAreWrittenByteForByte) {
  const Golden golden(std::string(kGoldenFolder) + "gguf.safetensors");
  int cases = 0;
  for (const SafetensorsTensor& tensor : golden.tensors.tensors) {
    if (!tensor.name.starts_with("q/")) continue;
    SCOPED_TRACE(tensor.name);
    const size_t slash = tensor.name.find('/', 2);
    const Format format = *BlockFormat(tensor.name.substr(2, slash - 2));
    const std::string in = "in/" + tensor.name.substr(slash + 1);
    const std::vector<std::int64_t>& shape = golden.Get(in).shape;
    EXPECT_EQ(Pack(format, 1, shape[0], shape[1], golden.Floats(in)).data, Copy(tensor.data));
    ++cases;
  }
  EXPECT_EQ(cases, 30);
}

TEST(QuantGolden, GgufBlocksAreReadAsTheirPackageReadsThem) {
  const Golden golden(std::string(kGoldenFolder) + "gguf.safetensors");
  int cases = 0;
  for (const SafetensorsTensor& tensor : golden.tensors.tensors) {
    if (!tensor.name.starts_with("blocks/")) continue;
    SCOPED_TRACE(tensor.name);
    const std::string name = tensor.name.substr(7);
    const std::vector<float> wanted = golden.Floats("numbers/" + name);
    const std::vector<std::int64_t>& shape = golden.Get("numbers/" + name).shape;
    const WeightView view{
        .format = *BlockFormat(name), .n = shape[0], .k = shape[1], .data = tensor.data.data()};
    std::vector<float> out(wanted.size());
    for (std::int64_t row = 0; row < view.n; ++row) {
      UnpackRow(
          view, row,
          std::span(out).subspan(static_cast<size_t>(row * view.k), static_cast<size_t>(view.k)));
    }
    EXPECT_EQ(out, wanted);
    ++cases;
  }
  EXPECT_EQ(cases, 15);
}

// `q/<mode>_b<bits>_g<group>/<dtype>/<kind>/`.
struct MlxCase {
  Format format;
  DType source = DType::kF32;
  std::string in, prefix;
};
std::optional<MlxCase> ParseMlxCase(const std::string& name) {
  int bits = 0, group = 0;
  char mode[16] = {}, dtype[16] = {}, kind[32] = {};
  if (std::sscanf(name.c_str(), "q/%15[^_]_b%d_g%d/%15[^/]/%31[^/]/weight", mode, &bits, &group,
                  dtype, kind) != 5 ||
      !name.ends_with("/weight")) {
    return std::nullopt;
  }
  MlxCase c;
  c.source = std::strcmp(dtype, "float32") == 0   ? DType::kF32
             : std::strcmp(dtype, "float16") == 0 ? DType::kF16
                                                  : DType::kBF16;
  c.format = Format::Affine(bits, group, c.source);
  for (FormatKind of : {FormatKind::kMxfp4, FormatKind::kMxfp8, FormatKind::kNvfp4}) {
    if (Format::Of(of).Name() == mode) c.format = Format::Of(of);
  }
  c.in = std::string("in/") + dtype + "/" + kind;
  c.prefix = name.substr(0, name.size() - std::strlen("weight"));
  return c;
}

// The golden file of TONNAGE_ORACLES where that is set, and else our copy of one.
std::string MlxGolden() {
  const char* oracles = std::getenv("TONNAGE_ORACLES");
  if (oracles != nullptr) return std::string(oracles) + "/mlx_quant/golden.safetensors";
  return std::string(kGoldenFolder) + "mlx.safetensors";
}

TEST(QuantGolden, IsWrittenAsMlxsCpuWritesIt) {
  const Golden golden(MlxGolden());
  int cases = 0;
  for (const SafetensorsTensor& tensor : golden.tensors.tensors) {
    const auto c = ParseMlxCase(tensor.name);
    if (!c) continue;
    SCOPED_TRACE(tensor.name);
    const std::vector<std::int64_t>& shape = golden.Get(c->in).shape;
    const QuantizedWeight packed =
        Pack(c->format, 1, shape[0], shape[1], golden.Floats(c->in), {.source = c->source});
    EXPECT_EQ(packed.data, Copy(tensor.data));
    EXPECT_EQ(packed.scales, Copy(golden.Get(c->prefix + "scales").data));
    if (c->format.kind == FormatKind::kAffine) {
      EXPECT_EQ(packed.biases, Copy(golden.Get(c->prefix + "biases").data));
    }
    ++cases;
  }
  EXPECT_EQ(cases, (6 * 3 + 3) * 3 * 10);
}

// MLX computes q * scale + bias in the scales' type, we in float32: equal for float32, else within
// the rounding of the product and the sum.
TEST(QuantGolden, AffineIsReadAsMlxReadsIt) {
  const Golden golden(MlxGolden());
  int cases = 0;
  for (const SafetensorsTensor& tensor : golden.tensors.tensors) {
    const auto c = ParseMlxCase(tensor.name);
    if (!c || c->format.kind != FormatKind::kAffine) continue;
    if (golden.tensors.Find(c->prefix + "dequantized") == nullptr) continue;
    SCOPED_TRACE(tensor.name);
    const std::vector<float> wanted = golden.Floats(c->prefix + "dequantized");
    const std::vector<std::int64_t>& shape = golden.Get(c->in).shape;
    WeightView view{.format = c->format, .n = shape[0], .k = shape[1], .data = tensor.data.data()};
    view.scales = golden.Get(c->prefix + "scales").data.data();
    view.biases = golden.Get(c->prefix + "biases").data.data();
    const std::vector<float> biases = golden.Floats(c->prefix + "biases");
    const double epsilon = c->format.scale_dtype == DType::kF32   ? 0x1p-24
                           : c->format.scale_dtype == DType::kF16 ? 0x1p-11
                                                                  : 0x1p-8;
    std::vector<float> out(static_cast<size_t>(view.k));
    for (std::int64_t row = 0; row < view.n; ++row) {
      UnpackRow(view, row, out);
      for (size_t i = 0; i < out.size(); ++i) {
        const size_t at = static_cast<size_t>(row * view.k) + i;
        const double bias = std::fabs(biases[at / static_cast<size_t>(c->format.group)]);
        ASSERT_NEAR(out[i], wanted[at], epsilon * (2 * bias + 2 * std::fabs(wanted[at])))
            << row << " " << i;
      }
    }
    ++cases;
  }
  EXPECT_EQ(cases, 6 * 3 * 3 * 2);
}

// fp4 and fp8 times their scale have few enough bits for any type: only its range rounds them.
TEST(QuantGolden, FloatModesAreReadAsMlxReadsThem) {
  const Golden golden(MlxGolden());
  int cases = 0;
  for (const SafetensorsTensor& tensor : golden.tensors.tensors) {
    const auto c = ParseMlxCase(tensor.name);
    if (!c || c->format.kind == FormatKind::kAffine) continue;
    if (golden.tensors.Find(c->prefix + "dequantized") == nullptr) continue;
    SCOPED_TRACE(tensor.name);
    const std::vector<float> wanted = golden.Floats(c->prefix + "dequantized");
    const std::vector<std::int64_t>& shape = golden.Get(c->in).shape;
    WeightView view{.format = c->format, .n = shape[0], .k = shape[1], .data = tensor.data.data()};
    view.scales = golden.Get(c->prefix + "scales").data.data();
    std::vector<float> out(wanted.size());
    for (std::int64_t row = 0; row < view.n; ++row) {
      UnpackRow(
          view, row,
          std::span(out).subspan(static_cast<size_t>(row * view.k), static_cast<size_t>(view.k)));
    }
    if (c->source == DType::kF16) {
      for (float& w : out) w = F16ToF32(F32ToF16(w));
    }
    EXPECT_EQ(out, wanted);
    ++cases;
  }
  EXPECT_EQ(cases, 3 * 3 * 2);
}

}  // namespace
}  // namespace tonnage
