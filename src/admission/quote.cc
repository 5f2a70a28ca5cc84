#include "admission/quote.h"

#include <algorithm>

namespace tonnage {

Bytes Quote::Of(Owner owner) const {
  switch (owner) {
    case Owner::kWeights:
      return weights;
    case Owner::kKv:
      return kv;
    case Owner::kState:
      return state;
    case Owner::kArena:
      return arena;
    case Owner::kWorkspace:
      return workspace;
    case Owner::kStaging:
      return staging;
    case Owner::kPrefixCache:
      return prefix_cache;
    case Owner::kRuntime:
      return runtime;
  }
  return 0;
}

Bytes Quote::Total() const {
  return weights + runtime + std::max(staging, kv + state + arena + workspace + prefix_cache);
}

std::optional<Owner> TightestTerm(const Quote& quote, Bytes available_bytes) {
  if (quote.Total() <= available_bytes) return std::nullopt;
  Bytes held = quote.runtime;
  if (held > available_bytes) return Owner::kRuntime;
  held += quote.weights;
  if (held > available_bytes) return Owner::kWeights;
  if (held + quote.staging > available_bytes) return Owner::kStaging;
  for (Owner owner : {Owner::kKv, Owner::kState, Owner::kArena, Owner::kWorkspace}) {
    held += quote.Of(owner);
    if (held > available_bytes) return owner;
  }
  return Owner::kPrefixCache;
}

Result<std::int64_t> LargestContext(const Pricer& price, const ServingSettings& settings,
                                    Bytes available_bytes) {
  const auto fits = [&](std::int64_t context_tokens) -> Result<bool> {
    ServingSettings tried = settings;
    tried.context_tokens = context_tokens;
    ASSIGN_OR_RETURN(const Quote quote, price(tried));
    return quote.Total() <= available_bytes;
  };
  // The whole context first: it need not be a multiple of a page.
  ASSIGN_OR_RETURN(const bool all, fits(settings.context_tokens));
  if (all) return settings.context_tokens;
  std::int64_t low = 0,
               high = CeilDiv(settings.context_tokens, kKvPageTokens);  // pages; high does not fit
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const bool fit, fits(middle * kKvPageTokens));
    (fit ? low : high) = middle;
  }
  return low * kKvPageTokens;
}

Result<std::optional<Refusal>> Judge(const Pricer& price, const ServingSettings& settings,
                                     const Quote& quote, const Available& available) {
  const auto tightest = TightestTerm(quote, available.bytes);
  if (!tightest) return std::optional<Refusal>();
  Refusal refusal{.tightest = *tightest, .quote = quote, .available = available, .nearest = {}};
  const auto offer = [&](ServingSettings changed, bool whole_context_only) -> Status {
    ASSIGN_OR_RETURN(changed.context_tokens, LargestContext(price, changed, available.bytes));
    const bool whole = changed.context_tokens == settings.context_tokens;
    if (changed.context_tokens > 0 && (whole || !whole_context_only)) {
      refusal.nearest.push_back(changed);
    }
    return {};
  };
  if (settings.kv_dtype == DType::kF32) {
    ServingSettings halved = settings;
    halved.kv_dtype = DType::kF16;
    RETURN_IF_ERROR(offer(halved, true));
  }
  for (std::int64_t slots = settings.slots / 2; slots >= 1 && refusal.nearest.empty(); slots /= 2) {
    ServingSettings fewer = settings;
    fewer.slots = slots;
    RETURN_IF_ERROR(offer(fewer, true));
  }
  RETURN_IF_ERROR(offer(settings, false));
  if (refusal.nearest.empty() && settings.slots > 1) {
    ServingSettings least = settings;
    least.slots = 1;
    RETURN_IF_ERROR(offer(least, false));
  }
  return std::optional<Refusal>(std::move(refusal));
}

std::string Refusal::Message() const {
  std::string text =
      fmt::format("{} needed, {} allowed by {}; {} is {} of it", FormatBytes(quote.Total()),
                  FormatBytes(available.bytes), available.source, OwnerName(tightest),
                  FormatBytes(quote.Of(tightest)));
  if (nearest.empty()) return text + ". Not even the smallest context with one slot fits";
  text += ". Fits: ";
  for (size_t i = 0; i < nearest.size(); ++i) {
    if (i > 0) text += ", or ";
    text += fmt::format("--context {} --slots {} --kv {}", nearest[i].context_tokens,
                        nearest[i].slots, DTypeName(nearest[i].kv_dtype));
  }
  return text;
}

}  // namespace tonnage
