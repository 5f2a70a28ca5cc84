// What a load will hold on one device, as a value, and the verdict on it: admitted, or refused
// naming the term that does not fit and the nearest settings that do. Pure functions: the same plan
// and the same budget give the same answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "graph/cache_layout.h"
#include "memory/ledger.h"
#include "tensor/device.h"

namespace tonnage {

struct Quote {
  DeviceId device = {};
  Bytes weights = 0;  // every tensor as it will lie in memory
  Bytes kv = 0;       // the whole cache, for every slot
  Bytes state = 0;    // recurrent and convolution states
  Bytes arena = 0;
  Bytes workspace = 0;
  Bytes staging = 0;  // the loader's; given back before the cache and the arena are allocated
  Bytes prefix_cache = 0;
  Bytes runtime = 0;
  std::int64_t buffers = 0;  // allocations that are held at the worst moment

  Bytes Of(Owner owner) const;
  // At the worst moment: the end of loading the weights, or serving.
  Bytes Total() const;
};

// What a user can turn to make a load fit.
struct ServingSettings {
  std::int64_t context_tokens = 0;
  std::int64_t slots = 0;
  DType kv_dtype = DType::kF16;
  bool operator==(const ServingSettings&) const = default;
};

// What is there to be used, and who says so ("RAM", "--memory-limit").
struct Available {
  Bytes bytes = 0;
  std::string source;
  std::int64_t buffers = INT64_MAX;
  std::string buffers_source = "the device";
};

struct Refusal {
  // The first term, in the order of a load, that goes over; none when only the buffers are too
  // many.
  std::optional<Owner> tightest;
  ServingSettings asked;
  Quote quote;
  Available available;
  std::vector<ServingSettings> nearest;  // what would fit instead, best first
  bool TooManyBuffers() const { return quote.buffers > available.buffers; }

  // "26.3 GiB needed, 23.4 GiB allowed by --memory-limit; kv is 9.0 GiB of it. Fits: ...", or the
  // same of buffers.
  std::string Message() const;
  // "--context 4352, or --slots 2": of each of the nearest what it changes; empty when none is.
  std::string Alternatives() const;
};

// Nothing when the quote fits, else the term at which it stops fitting.
std::optional<Owner> TightestTerm(const Quote& quote, Bytes available_bytes);

// The quote of a load with these settings. Its total must not fall when the context or the slots
// grow.
using Pricer = std::function<Result<Quote>(const ServingSettings&)>;

// The most context, in whole KV pages and at most `settings.context_tokens`, with which the load
// fits; 0 when not even one page does. Asks the pricer O(log context) times.
Result<std::int64_t> LargestContext(const Pricer& price, const ServingSettings& settings,
                                    Bytes available_bytes);

// The most slots, at most `settings.slots`, with which the load fits; 0 when not even one does.
// Asks the pricer O(log slots) times.
Result<std::int64_t> LargestSlots(const Pricer& price, const ServingSettings& settings,
                                  Bytes available_bytes);

// Nothing when the load is admitted. `quote` is the pricer's for `settings`. How many buffers there
// are is the model's and no setting's, so nothing is offered where they are too many. Else
// alternatives change as little as they can: the cache's numbers, else the slots, else the context,
// and several of them only where one is not enough.
Result<std::optional<Refusal>> Judge(const Pricer& price, const ServingSettings& settings,
                                     const Quote& quote, const Available& available);

}  // namespace tonnage
