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

namespace {

// The largest n in [0, high) for which fits(n) holds, given that it holds for 0 and for every
// smaller one than one for which it holds.
template <typename Fits>
Result<std::int64_t> LargestThatFits(std::int64_t high, Fits fits) {
  std::int64_t low = 0;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const bool fit, fits(middle));
    (fit ? low : high) = middle;
  }
  return low;
}

Result<bool> Fits(const Pricer& price, const ServingSettings& settings, Bytes available_bytes) {
  ASSIGN_OR_RETURN(const Quote quote, price(settings));
  return quote.Total() <= available_bytes;
}

// Changes to the slots alone and to the context alone that make `settings` fit.
Status Offer(const Pricer& price, const ServingSettings& settings, Bytes available_bytes,
             std::vector<ServingSettings>& offers) {
  ServingSettings fewer = settings, shorter = settings;
  ASSIGN_OR_RETURN(fewer.slots, LargestSlots(price, settings, available_bytes));
  if (fewer.slots > 0) offers.push_back(fewer);
  ASSIGN_OR_RETURN(shorter.context_tokens, LargestContext(price, settings, available_bytes));
  if (shorter.context_tokens > 0) offers.push_back(shorter);
  return {};
}

std::string Changes(const ServingSettings& asked, const ServingSettings& offered) {
  std::string text;
  const auto add = [&](bool changed, std::string option) {
    if (changed) text += (text.empty() ? "" : " ") + option;
  };
  add(offered.context_tokens != asked.context_tokens,
      fmt::format("--context {}", offered.context_tokens));
  add(offered.slots != asked.slots, fmt::format("--slots {}", offered.slots));
  add(offered.kv_dtype != asked.kv_dtype, fmt::format("--kv {}", KvTypeName(offered.kv_dtype)));
  return text;
}

}  // namespace

Result<std::int64_t> LargestContext(const Pricer& price, const ServingSettings& settings,
                                    Bytes available_bytes) {
  // The whole context first: it need not be a multiple of a page.
  ASSIGN_OR_RETURN(const bool all, Fits(price, settings, available_bytes));
  if (all) return settings.context_tokens;
  ASSIGN_OR_RETURN(
      const std::int64_t pages,
      LargestThatFits(CeilDiv(settings.context_tokens, kKvPageTokens), [&](std::int64_t count) {
        ServingSettings tried = settings;
        tried.context_tokens = count * kKvPageTokens;
        return Fits(price, tried, available_bytes);
      }));
  return pages * kKvPageTokens;
}

Result<std::int64_t> LargestSlots(const Pricer& price, const ServingSettings& settings,
                                  Bytes available_bytes) {
  return LargestThatFits(settings.slots + 1, [&](std::int64_t slots) {
    ServingSettings tried = settings;
    tried.slots = slots;
    return Fits(price, tried, available_bytes);
  });
}

Result<std::optional<Refusal>> Judge(const Pricer& price, const ServingSettings& settings,
                                     const Quote& quote, const Available& available) {
  Refusal refusal{.tightest = TightestTerm(quote, available.bytes),
                  .asked = settings,
                  .quote = quote,
                  .available = available,
                  .nearest = {}};
  if (refusal.TooManyBuffers()) return std::optional<Refusal>(std::move(refusal));
  if (!refusal.tightest) return std::optional<Refusal>();
  ServingSettings narrow = settings;
  bool narrow_fits = false;
  while (!narrow_fits && NarrowerKvType(narrow.kv_dtype) != narrow.kv_dtype) {
    narrow.kv_dtype = NarrowerKvType(narrow.kv_dtype);
    ASSIGN_OR_RETURN(narrow_fits, Fits(price, narrow, available.bytes));
  }
  if (narrow_fits) refusal.nearest.push_back(narrow);
  RETURN_IF_ERROR(Offer(price, settings, available.bytes, refusal.nearest));
  if (!narrow_fits && !(narrow == settings)) {
    RETURN_IF_ERROR(Offer(price, narrow, available.bytes, refusal.nearest));
  }
  if (refusal.nearest.empty() && settings.slots > 1) {
    narrow.slots = 1;
    RETURN_IF_ERROR(Offer(price, narrow, available.bytes, refusal.nearest));
  }
  return std::optional<Refusal>(std::move(refusal));
}

std::string Refusal::Alternatives() const {
  std::string text;
  for (const ServingSettings& settings : nearest) {
    text += (text.empty() ? "" : ", or ") + Changes(asked, settings);
  }
  return text;
}

std::string Refusal::Message() const {
  if (TooManyBuffers()) {
    return fmt::format(
        "{} buffers needed, {} allowed by {}: the model needs as many with any settings",
        FormatThousands(quote.buffers), FormatThousands(available.buffers),
        available.buffers_source);
  }
  std::string text = fmt::format("{} needed, {} allowed by {}; ", FormatBytes(quote.Total()),
                                 FormatBytes(available.bytes), available.source);
  const Bytes term = quote.Of(*tightest);
  if (term > available.bytes) {
    text += fmt::format("the {} term alone is {}", OwnerName(*tightest), FormatBytes(term));
  } else {
    text += fmt::format("{} is {} of it", OwnerName(*tightest), FormatBytes(term));
  }
  if (nearest.empty()) return text + ". Not even the smallest context with one slot fits";
  return text + ". Fits: " + Alternatives();
}

}  // namespace tonnage
