// Causal attention over a paged cache. A step first writes its keys and values to the cache; then
// row r of a sequence, at position p, attends for each query head h with kv head
// g = h / (heads / kv_heads) to the positions t in (p - window, p], or [0, p] without a window:
//   s[t] = scale * sum_i q[r, h, i] * K[g, t, i], then soft_cap * tanh(s[t] / soft_cap) if any
//   out[r, h, :] = sum_t softmax(s)[t] * V[g, t, :]
// where e^sinks[h], if there are sinks, joins the softmax's denominator and nothing else.
// A row's result depends on that row and its sequence alone, bit for bit: the order of every sum is
// fixed by absolute positions, not by the rows of the step, the slicing or the threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/thread_pool.h"
#include "kernels/attention/q8.h"
#include "kernels/variant.h"
#include "tensor/dtype.h"
#include "tensor/precision.h"

namespace tonnage {

// Tokens of one page of the cache.
inline constexpr std::int64_t kAttentionPageTokens = 64;

struct AttentionShape {
  std::int64_t heads = 0;     // a multiple of kv_heads
  std::int64_t kv_heads = 0;  // at least 1
  std::int64_t k_dim = 0;     // of one query or key head
  std::int64_t v_dim = 0;     // of one value head
  float scale = 1.0f;
  std::int64_t window = 0;  // positions that a row sees, its own included; 0 is all
  float soft_cap = 0.0f;    // 0 is none
};

// The cache of one layer. A page is [kv_heads, k_dim, page tokens] keys, then [kv_heads, page
// tokens, v_dim] values: keys are transposed, so that the scores of neighbouring tokens lie side by
// side in a vector. A page of 8-bit numbers is q8.h's.
struct KvPages {
  std::uint8_t* pages = nullptr;
  DType dtype = DType::kF16;                 // f32, f16, bf16, or u8 for q8.h's
  std::int64_t pages_per_slot = 0;           // of the table, or of each slot's ring
  const std::int32_t* page_table = nullptr;  // [slots, pages_per_slot]; null for rings
};

struct AttentionArgs {
  AttentionShape shape;
  KvPages cache;
  const float* q = nullptr;      // [rows, heads, k_dim]
  const float* k = nullptr;      // [rows, kv_heads, k_dim]
  const float* v = nullptr;      // [rows, kv_heads, v_dim]
  const float* sinks = nullptr;  // [heads]; null: none
  float* out = nullptr;          // [rows, heads, v_dim]
  std::int64_t rows = 0;
  std::int64_t max_rows = 0;  // those of the workspace's limits
  // The rows of one slot stand together, their positions rising by one.
  const std::int32_t* positions = nullptr;  // [rows]
  const std::int32_t* slots = nullptr;      // [rows]
};

// Which page holds a position.
inline std::int64_t PageOf(const KvPages& cache, std::int64_t slot, std::int64_t position) {
  const std::int64_t page = position / kAttentionPageTokens;
  const std::int64_t first = slot * cache.pages_per_slot;
  return cache.page_table != nullptr ? cache.page_table[first + page]
                                     : first + page % cache.pages_per_slot;
}

inline Q8Block Q8BlockOf(const AttentionShape& shape) {
  return {shape.k_dim, shape.v_dim, kAttentionPageTokens};
}

// Of one page of keys and values.
inline Bytes AttentionPageBytes(const AttentionShape& shape, DType dtype) {
  if (dtype == DType::kU8) return shape.kv_heads * Q8BlockOf(shape).bytes;
  return kAttentionPageTokens * shape.kv_heads * (shape.k_dim + shape.v_dim) * DTypeBytes(dtype);
}

// The largest step that a workspace must serve.
struct AttentionLimits {
  std::int64_t rows = 0;
  std::int64_t context_tokens = 0;
  int threads = 1;
};

struct AttentionKernel {
  std::string_view name;
  CpuLevel level;
  Bytes (*workspace_bytes)(const AttentionShape& shape, const AttentionLimits& limits);
  // `workspace` is 64-byte aligned.
  void (*run)(const AttentionArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool);
};

std::span<const AttentionKernel> AttentionKernels();

// For rows of prompts (prompt.h). Takes what AttentionKernel::run takes, but rounds more.
struct PromptAttentionKernel {
  std::string_view name;
  bool CpuFeatures::*needs;  // null: nothing
  Bytes (*workspace_bytes)(const AttentionShape& shape, const AttentionLimits& limits);
  void (*run)(const AttentionArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool);
};

std::span<const PromptAttentionKernel> PromptAttentionKernels();
bool Runs(const PromptAttentionKernel& kernel, const CpuFeatures& features);
// The best that runs, or the one named `forced`; null where the kernel for any rows takes prompts
// too, as it does for every row of an exact program.
const PromptAttentionKernel* SelectPromptAttention(Precision precision, const CpuFeatures& features,
                                                   std::string_view forced = {});

namespace reference {
Bytes AttentionWorkspaceBytes(const AttentionShape& shape, const AttentionLimits& limits);
void Attention(const AttentionArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool);
}  // namespace reference

}  // namespace tonnage
