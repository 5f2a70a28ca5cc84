// The graph of one model step: what is computed, on which values, with which weights. Built from
// config alone; knows no device, no storage format and no step size. Every activation is a matrix
// [rows, width] whose rows are those of the step or only those whose logits are wanted, so one
// graph serves every step. Nodes stand in an order in which they may run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace tonnage {

enum class Extent : std::uint8_t {
  kStepRows,   // one row a token of the step
  kLogitRows,  // one row a token whose logits are wanted
};

struct Value {
  int id = -1;
  bool operator==(const Value&) const = default;
};

struct ValueInfo {
  Extent extent = Extent::kStepRows;
  std::int64_t width = 0;  // elements a row
  DType dtype = DType::kF32;
};

struct WeightId {
  int id = -1;
  bool valid() const { return id >= 0; }
  bool operator==(const WeightId&) const = default;
};

// One entry of the tensor table: a name in the checkpoint (Hugging Face's spelling) and the shape
// it must have there.
struct WeightSpec {
  std::string name;
  Shape shape;     // [width] (kept as f32), [n, k] or [experts, n, k]
  int layer = -1;  // which layer reads it; -1 for embedding, final norm and head
};

enum class Op : std::uint8_t {
  kEmbed,      // (tokens i32 [rows, 1]) {table [vocab, width]} -> [rows, width] * scale
  kLinear,     // (x [rows, k]) {w_i [n_i, k], bias_i [n_i] or invalid, ...} -> y_i [rows, n_i] = x
               // w_i^T + bias_i
  kRmsNorm,    // (x) {weight [group]} -> each run of `group` elements: x / sqrt(mean(x^2) + eps) *
               // weight
  kRope,       // (x [rows, heads * head_dim], positions i32 [rows, 1]) -> rotated copy
  kAttention,  // (q, k, v) {sinks [heads], if any} -> [rows, heads * v_dim]; first writes k and v
               // to the layer's cache, then attends to it. A head's sink is a logit that only joins
               // the denominator of its softmax
  kAdd,        // (a, b) -> a + b
  kGlu,        // (gate, up) -> act(gate) * up
  kSelectRows,  // (x [step rows, width]) -> [logit rows, width]
  kRoute,  // (router logits [rows, experts]) -> expert ids i32 [rows, top_k], expert weights f32
           // [rows, top_k]
  kExpertLinear,  // (x [rows, k] or [rows, top_k * k], ids) {w_i [experts, n_i, k], ...} ->
                  // [rows, top_k * n_i]
  kExpertSum,  // (y [rows, top_k * n], expert weights [rows, top_k]) -> [rows, n] = sum_j weight_j
               // * y_j
};
std::string_view OpName(Op op);

struct EmbedAttrs {
  float scale = 1.0f;
};
struct RmsNormAttrs {
  float eps = 1e-6f;
  std::int64_t group = 0;      // elements normalized together; divides the width
  float weight_offset = 0.0f;  // 1 where the checkpoint stores w of (1 + w)
};
struct RopeAttrs {
  int heads = 0;
  int head_dim = 0;
  bool interleaved = false;  // pairs (2i, 2i + 1) instead of (i, i + rotary_dim / 2)
  std::vector<float> inverse_frequency = {};  // [rotary_dim / 2], radians a position
  float magnitude = 1.0f;  // cos and sin are multiplied by it (YaRN's attention factor)
};
struct AttentionAttrs {
  int cache = 0;  // index into CacheLayout::layers
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;  // of q and k
  int v_dim = 0;     // of v
  float scale = 1.0f;
  std::int64_t window = 0;  // a token sees itself and the window - 1 tokens before it; 0 is all
  float soft_cap = 0.0f;    // scores become cap * tanh(score / cap); 0 is none
};
enum class Activation : std::uint8_t { kSilu, kGeluTanh };
struct GluAttrs {
  Activation activation = Activation::kSilu;
};
struct RouteAttrs {
  int experts = 0;
  int top_k = 0;
  bool normalize = false;  // softmax over all experts, then the top_k divided by their sum
};
struct ExpertLinearAttrs {
  int experts = 0;
  int top_k = 0;
  bool input_per_expert = false;  // x is [rows, top_k * k] instead of one row for all top_k
};
struct ExpertSumAttrs {
  int top_k = 0;
};

using Attrs = std::variant<std::monostate, EmbedAttrs, RmsNormAttrs, RopeAttrs, AttentionAttrs,
                           GluAttrs, RouteAttrs, ExpertLinearAttrs, ExpertSumAttrs>;

struct Node {
  Op op = Op::kEmbed;
  int layer = -1;  // -1 before the first and after the last layer
  std::vector<Value> inputs = {};
  std::vector<WeightId> weights = {};
  std::vector<Value> outputs = {};
  Attrs attrs = {};
};

struct Graph {
  std::vector<ValueInfo> values;
  std::vector<WeightSpec> weights;
  std::vector<Node> nodes;
  Value tokens;     // i32 [step rows, 1]
  Value positions;  // i32 [step rows, 1]
  Value logits;     // f32 [logit rows, vocab]
};

// How many rows a step may have at most; a smaller step uses a prefix of the same buffers.
struct StepLimits {
  std::int64_t rows = 0;
  std::int64_t logit_rows = 0;
  std::int64_t RowsOf(Extent extent) const {
    return extent == Extent::kStepRows ? rows : logit_rows;
  }
};

}  // namespace tonnage
