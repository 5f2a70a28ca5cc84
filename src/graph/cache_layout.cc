#include "graph/cache_layout.h"

#include <algorithm>

namespace tonnage {

std::string_view KvTypeName(DType kv_dtype) {
  return kv_dtype == DType::kU8 ? "q8" : DTypeName(kv_dtype);
}

Result<DType> ParseKvType(std::string_view word) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kU8}) {
    if (KvTypeName(dtype) == word) return dtype;
  }
  return InvalidArgument("--kv {}: use f32, f16, bf16 or q8", word);
}

bool IsKvType(DType dtype) { return ParseKvType(KvTypeName(dtype)).ok(); }

DType NarrowerKvType(DType kv_dtype) { return kv_dtype == DType::kF32 ? DType::kF16 : DType::kU8; }

std::int64_t PagesPerSlot(const LayerCache& layer, const CacheSettings& settings) {
  const std::int64_t all = CeilDiv(settings.context_tokens, kKvPageTokens);
  if (layer.window == 0) return all;
  return std::min(all, CeilDiv(layer.window + settings.max_slice_rows, kKvPageTokens));
}

Bytes PageBytes(const LayerCache& layer, DType kv_dtype) {
  const std::int64_t elements = kKvPageTokens * layer.kv_heads * (layer.k_dim + layer.v_dim);
  if (kv_dtype != DType::kU8) return elements * DTypeBytes(kv_dtype);
  const std::int64_t heads = kKvPageTokens * layer.kv_heads;
  return elements + heads * (layer.k_dim % 2 + 2 * DTypeBytes(DType::kBF16));
}

Bytes CacheBytes(const CacheLayout& layout, const CacheSettings& settings) {
  Bytes total = 0;
  for (const LayerCache& layer : layout.layers) {
    const auto pages = CheckedMul(PagesPerSlot(layer, settings), settings.slots);
    const auto bytes = pages ? CheckedMul(*pages, PageBytes(layer, settings.kv_dtype)) : pages;
    total = std::min(kUnpayableBytes,
                     total + std::min(kUnpayableBytes, bytes.value_or(kUnpayableBytes)));
  }
  return total;
}

}  // namespace tonnage
