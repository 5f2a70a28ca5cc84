#include "engine/generation.h"

#include <utility>

#include "engine/sequence.h"

namespace tonnage {

std::string_view FinishReasonName(FinishReason reason) {
  static constexpr std::string_view kNames[] = {"stop", "length", "cancelled", "error"};
  return kNames[static_cast<size_t>(reason)];
}

Generation::Generation(std::shared_ptr<internal::Sequence> sequence)
    : sequence_(std::move(sequence)) {}

Generation& Generation::operator=(Generation&& other) noexcept {
  std::swap(sequence_, other.sequence_);
  std::swap(read_, other.read_);
  std::swap(done_, other.done_);
  return *this;
}

Generation::~Generation() {
  if (sequence_ != nullptr) Cancel();
}

std::optional<GenerationEvent> Generation::Next() {
  if (done_) return std::nullopt;
  GenerationEvent event = sequence_->Wait(read_);
  if (std::holds_alternative<DoneEvent>(event)) {
    done_ = true;
  } else {
    ++read_;
  }
  return event;
}

void Generation::Cancel() { sequence_->Cancel(); }

}  // namespace tonnage
