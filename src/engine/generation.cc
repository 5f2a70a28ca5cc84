#include "engine/generation.h"

#include <utility>

namespace tonnage {

std::string_view FinishReasonName(FinishReason reason) {
  static constexpr std::string_view kNames[] = {"stop", "length", "cancelled", "error"};
  return kNames[static_cast<size_t>(reason)];
}

Generation& Generation::operator=(Generation&& other) noexcept {
  std::swap(source_, other.source_);
  std::swap(done_, other.done_);
  return *this;
}

Generation::~Generation() {
  if (source_ != nullptr) Cancel();
}

std::optional<GenerationEvent> Generation::Next() {
  if (done_) return std::nullopt;
  GenerationEvent event = source_->Next();
  done_ = std::holds_alternative<DoneEvent>(event);
  return event;
}

std::optional<GenerationEvent> Generation::TryNext() {
  if (done_) return std::nullopt;
  std::optional<GenerationEvent> event = source_->TryNext();
  done_ = event && std::holds_alternative<DoneEvent>(*event);
  return event;
}

}  // namespace tonnage
