// A backend for tests of what stands above it: its logits are a hash of every token that its cache
// holds for the row's sequence, so that a wrong page, slot, position or order changes the tokens at
// once. It checks its inputs, can be held before a step, and can be told to fail.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/check.h"
#include "engine/engine.h"
#include "graph/cache_layout.h"

namespace tonnage {

inline std::uint64_t ToyHash(std::uint64_t state, std::int32_t token) {
  state = (state ^ static_cast<std::uint32_t>(token)) * 0x9e3779b97f4a7c15u;
  return state ^ (state >> 29);
}

// The logits after `tokens`: numbers in [0, 8).
inline std::vector<float> ToyLogits(std::span<const std::int32_t> tokens, std::int64_t vocab) {
  std::uint64_t state = 1;
  for (std::int32_t token : tokens) state = ToyHash(state, token);
  std::vector<float> logits;
  for (std::int32_t v = 0; v < vocab; ++v) {
    logits.push_back(static_cast<float>(ToyHash(state, v) >> 40) * (8.0f / (1 << 24)));
  }
  return logits;
}

// How a test holds a backend's steps and makes them fail; from any thread.
class ToyControl {
 public:
  // So many more steps may end; those after them wait.
  void Allow(std::int64_t steps) {
    {
      std::lock_guard lock(mutex_);
      allowed_ = steps;
    }
    changed_.notify_all();
  }
  void Hold() { Allow(0); }
  void Resume() { Allow(INT64_MAX); }
  void FailNextStep() {
    std::lock_guard lock(mutex_);
    fail_ = true;
  }
  bool Pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return allowed_ > 0; });
    --allowed_;
    return !std::exchange(fail_, false);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t allowed_ = INT64_MAX;
  bool fail_ = false;
};

class ToyProgram final : public Program {
 public:
  ToyProgram(std::int64_t vocab, const CacheSettings& cache, const StepLimits& limits)
      : vocab_(vocab),
        limits_(limits),
        pages_per_slot_(CeilDiv(cache.context_tokens, kKvPageTokens)),
        cells_(static_cast<size_t>(cache.slots * pages_per_slot_ * kKvPageTokens), -1),
        logits_(static_cast<size_t>(limits.logit_rows * vocab)) {}

  std::span<const float> logits() const override { return std::span(logits_).first(used_); }

  Status Run(const StepInputs& in) {
    const size_t rows = in.tokens.size();
    if (rows == 0 || static_cast<std::int64_t>(rows) > limits_.rows ||
        in.positions.size() != rows || in.slots.size() != rows ||
        static_cast<std::int64_t>(in.logit_rows.size()) > limits_.logit_rows) {
      return InvalidArgument("a step of {} rows and {} logit rows", rows, in.logit_rows.size());
    }
    used_ = 0;
    for (size_t row = 0, wanted = 0; row < rows; ++row) {
      if (Cell(in, row, in.positions[row]) == nullptr) {
        return InvalidArgument("row {} has no page", row);
      }
      *Cell(in, row, in.positions[row]) = in.tokens[row];
      if (wanted < in.logit_rows.size() &&
          in.logit_rows[wanted] == static_cast<std::int32_t>(row)) {
        ++wanted;
        WriteLogits(in, row);
      }
    }
    return {};
  }

 private:
  std::int32_t* Cell(const StepInputs& in, size_t row, std::int32_t position) {
    const std::int32_t page = in.page_table[static_cast<size_t>(in.slots[row] * pages_per_slot_ +
                                                                position / kKvPageTokens)];
    if (page < 0) return nullptr;
    return &cells_[static_cast<size_t>(page * kKvPageTokens + position % kKvPageTokens)];
  }
  void WriteLogits(const StepInputs& in, size_t row) {
    std::uint64_t state = 1;
    for (std::int32_t at = 0; at <= in.positions[row]; ++at)
      state = ToyHash(state, *Cell(in, row, at));
    for (std::int32_t v = 0; v < vocab_; ++v) {
      logits_[used_++] = static_cast<float>(ToyHash(state, v) >> 40) * (8.0f / (1 << 24));
    }
  }

  const std::int64_t vocab_;
  const StepLimits limits_;
  const std::int64_t pages_per_slot_;
  std::vector<std::int32_t> cells_;  // [pages, kKvPageTokens], the token of each place
  std::vector<float> logits_;        // [logit rows, vocab]
  size_t used_ = 0;
};

class ToyBackend final : public Backend {
 public:
  ToyControl& control() { return control_; }
  DeviceId device() const override { return {DeviceKind::kSim, 0}; }
  const Ledger& ledger() const override { return ledger_; }
  Ledger& ledger() { return ledger_; }
  Result<ProgramPrice> Price(const ProgramSpec&) const override {
    return Unsupported("a toy has no price");
  }
  Result<std::unique_ptr<WeightStore>> MakeWeightStore(const ProgramSpec&) override {
    return Unsupported("a toy has no weights");
  }
  Result<std::unique_ptr<Program>> MakeProgram(const ProgramSpec&,
                                               std::unique_ptr<WeightStore>) override {
    return Unsupported("a toy runs no graph");
  }
  Result<Event> Submit(Program& program, const StepInputs& inputs) override {
    RETURN_IF_ERROR(static_cast<ToyProgram&>(program).Run(inputs));
    return Event{++submitted_};
  }
  Status Wait(Event event) override {
    CHECK_EQ(event.sequence, submitted_);
    if (!control_.Pass()) return Unavailable("a fault was asked for");
    return {};
  }

 private:
  ToyControl control_;
  Ledger ledger_;
  std::uint64_t submitted_ = 0;
};

struct ToySettings {
  std::int64_t vocab = 50;
  std::int64_t context_tokens = 300;
  std::int64_t slots = 4;
  std::int64_t slice_rows = 16;
  QueueLimits queue = {};
};

inline LoadedModel ToyModel(const ToySettings& settings, ToyBackend& backend) {
  LoadedModel model;
  model.info.vocab = settings.vocab;
  model.info.context_limit = settings.context_tokens;
  model.cache = {.context_tokens = settings.context_tokens,
                 .slots = settings.slots,
                 .max_slice_rows = settings.slice_rows};
  model.step = {.rows = settings.slots + settings.slice_rows, .logit_rows = settings.slots};
  model.queue = settings.queue;
  model.backend = &backend;
  model.program = std::make_unique<ToyProgram>(settings.vocab, model.cache, model.step);
  return model;
}

}  // namespace tonnage
