// What each layer keeps between steps. The quote, the KV pool, the graph and the kernels read this
// one description.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace tonnage {

struct LayerCache {
  int kv_heads = 0;
  int k_dim = 0;            // elements of one key head
  int v_dim = 0;            // elements of one value head
  std::int64_t window = 0;  // 0: every token of the context is kept; else only these many latest
};

struct CacheLayout {
  std::vector<LayerCache> layers;
};

// Tokens of one KV page. One page of one layer is [kv_heads, k_dim, kKvPageTokens] for keys (a
// page's keys are transposed, so that its scores are computed side by side), then [kv_heads,
// kKvPageTokens, v_dim] for values. With q8, each head of a token has a bf16 scale for its key and
// one for its value, and an odd k_dim is filled up to an even one.
inline constexpr std::int64_t kKvPageTokens = 64;

struct CacheSettings {
  std::int64_t context_tokens = 0;  // the longest sequence of a slot
  std::int64_t slots = 0;           // sequences at a time
  std::int64_t max_slice_rows = 0;  // the most rows of one sequence in one step
  DType kv_dtype = DType::kF16;     // f32, f16 or bf16; u8 is q8: int8 numbers with scales
};

// The words of `--kv`, of plans and of protocols: "f32", "f16", "bf16", "q8".
std::string_view KvTypeName(DType kv_dtype);
Result<DType> ParseKvType(std::string_view word);
// Whether a cache can hold such numbers.
bool IsKvType(DType dtype);
// The type of `--kv` that is next smaller, with the least loss; itself when there is none.
DType NarrowerKvType(DType kv_dtype);

// Prices beyond this are not told apart: more than any device has, yet a few of them can be added.
inline constexpr Bytes kUnpayableBytes = Bytes{1} << 56;

// Pages that one slot of this layer needs: the context's, or for a window the ring that holds the
// window and one slice.
std::int64_t PagesPerSlot(const LayerCache& layer, const CacheSettings& settings);
Bytes PageBytes(const LayerCache& layer, DType kv_dtype);
// The whole cache: every layer, every slot. At most kUnpayableBytes.
Bytes CacheBytes(const CacheLayout& layout, const CacheSettings& settings);

}  // namespace tonnage
