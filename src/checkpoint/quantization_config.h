// What config.json says about quantization: which modules are quantized, and how; MLX's own words
// and those of other quantizers. A module is a weight's name without its last part:
// `model.layers.0.mlp.up_proj`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/packing.h"
#include "quant/format.h"

namespace tonnage {

// What MLX calls a mode. Affine has other widths and groups beside these; the others have none.
struct QuantMode {
  std::string_view name;
  FormatKind kind;
  std::int64_t bits;
  std::int64_t group;
};
inline constexpr QuantMode kQuantModes[] = {{"affine", FormatKind::kAffine, 4, 64},
                                            {"mxfp4", FormatKind::kMxfp4, 4, 32},
                                            {"mxfp8", FormatKind::kMxfp8, 8, 32},
                                            {"nvfp4", FormatKind::kNvfp4, 4, 16}};
// nullptr when there is none of that name.
const QuantMode* FindQuantMode(std::string_view name);

struct QuantRule {
  std::string mode = "affine";
  std::int64_t bits = 4;
  std::int64_t group = 64;
  bool operator==(const QuantRule&) const = default;
};

// Which tensors a quantized module is kept in.
enum class QuantMethod {
  kMlx,               // weight, scales, biases
  kColumns,           // qweight, qzeros, scales, g_idx: AWQ and GPTQ
  kFp8,               // weight in F8_E4M3, weight_scale_inv
  kMxfp4Blocks,       // X_blocks, X_scales; or as MLX keeps mxfp4
  kCompressedTensors  // weight_packed, weight_scale, weight_global_scale; or as MLX keeps nvfp4
};

// 4-bit codes by columns.
struct ColumnRule {
  Packing::Kind kind = Packing::Kind::kAwq;
  std::int64_t group = 128;  // -1: the whole row
  int zero_offset = 0;
  bool desc_act = false;  // groups may be of any elements, as g_idx says
};

struct Fp8Rule {
  std::int64_t block_rows = 128;     // of n
  std::int64_t block_columns = 128;  // of k
};

class QuantizationConfig {
 public:
  // Reads `quantization`, or else `quantization_config`, of a config.json or of its `text_config`;
  // one without either quantizes nothing. A method that we do not know is Unsupported by name.
  static Result<QuantizationConfig> Parse(const Json& config);

  QuantMethod method() const { return method_; }
  const ColumnRule& columns() const { return columns_; }
  const Fp8Rule& fp8() const { return fp8_; }

  // How a module that is kept as MLX keeps them is quantized, or nothing if it is not. An explicit
  // entry wins; otherwise it is quantized if and only if its scales are in the checkpoint.
  std::optional<QuantRule> Rule(std::string_view module, bool has_scales) const;

 private:
  Status ParseForeign(const Json& section, const std::string& method);
  Status ParseColumns(const Json& section, const std::string& method);
  Status ParseFp8(const Json& section);
  Status ParseCompressedTensors(const Json& section);
  Status ParseMlx(const Json& section);

  QuantMethod method_ = QuantMethod::kMlx;
  ColumnRule columns_;
  Fp8Rule fp8_;
  std::optional<QuantRule> default_;
  std::map<std::string, std::optional<QuantRule>, std::less<>> overrides_;
};

}  // namespace tonnage
