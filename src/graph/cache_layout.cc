#include "graph/cache_layout.h"

#include <algorithm>

namespace tonnage {

std::int64_t PagesPerSlot(const LayerCache& layer, const CacheSettings& settings) {
  const std::int64_t all = CeilDiv(settings.context_tokens, kKvPageTokens);
  if (layer.window == 0) return all;
  return std::min(all, CeilDiv(layer.window + settings.max_slice_rows, kKvPageTokens));
}

Bytes PageBytes(const LayerCache& layer, DType kv_dtype) {
  const std::int64_t elements = std::int64_t{layer.kv_heads} * (layer.k_dim + layer.v_dim);
  return kKvPageTokens * elements * DTypeBytes(kv_dtype);
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
