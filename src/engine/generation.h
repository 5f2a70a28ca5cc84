// The caller's end of one running request: its events, of which exactly one DoneEvent comes, last.
// Destroying the handle cancels the request. Cancel is safe from any thread; reading is for one
// thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "engine/request.h"

namespace tonnage {

// Where a generation's events come from: a sequence in this process's engine, or the stand-in for
// one in another process. Read like the Generation that holds it, and not beyond the DoneEvent.
class EventSource {
 public:
  virtual ~EventSource() = default;
  // The next event, waiting for it.
  virtual GenerationEvent Next() = 0;
  // The next event, if it is there.
  virtual std::optional<GenerationEvent> TryNext() = 0;
  virtual void Cancel() = 0;
};

class Generation {
 public:
  explicit Generation(std::shared_ptr<EventSource> source) : source_(std::move(source)) {}
  Generation(Generation&& other) noexcept = default;
  Generation& operator=(Generation&& other) noexcept;
  ~Generation();

  // The next event, waiting for it; nothing after the DoneEvent has been returned.
  std::optional<GenerationEvent> Next();
  // The next event; nothing when none is there, or after the DoneEvent.
  std::optional<GenerationEvent> TryNext();

  // The engine stops computing at its next step; the DoneEvent says kCancelled unless the request
  // had ended before.
  void Cancel() { source_->Cancel(); }

 private:
  std::shared_ptr<EventSource> source_;
  bool done_ = false;
};

}  // namespace tonnage
