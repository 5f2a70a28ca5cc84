// The caller's end of one running request. Next blocks for the next event; exactly one DoneEvent
// comes, last. Destroying the handle cancels the request. Cancel is safe from any thread; Next is
// for one thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "engine/request.h"

namespace tonnage {

namespace internal {
class Sequence;
}

class Generation {
 public:
  explicit Generation(std::shared_ptr<internal::Sequence> sequence);
  Generation(Generation&& other) noexcept = default;
  Generation& operator=(Generation&& other) noexcept;
  ~Generation();

  // The next event, or nothing after the DoneEvent has been returned.
  std::optional<GenerationEvent> Next();

  // The engine stops computing at its next step; the DoneEvent says kCancelled unless the request
  // had ended before.
  void Cancel();

 private:
  std::shared_ptr<internal::Sequence> sequence_;
  std::size_t read_ = 0;  // token events returned so far
  bool done_ = false;
};

}  // namespace tonnage
