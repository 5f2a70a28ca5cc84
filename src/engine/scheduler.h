// Which rows the next step computes: one decode row for every sequence whose last token was
// generated, then slices of prompts, oldest first, in what room is left. Pure: a function of the
// sequences and the limits, which knows no device and no clock. Allocates nothing after Reserve.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace tonnage {

// A running sequence: tokens that are known, and how many of them the cache holds already.
struct SequenceState {
  std::int64_t known = 0;
  std::int64_t computed = 0;
  std::int64_t prompt = 0;  // of the known ones, those that were given
  bool all_logits = false;  // wants the logits of every row, not only of the last
  std::int64_t pending() const { return known - computed; }
  // Whether what is pending was generated.
  bool decodes() const { return pending() == 1 && computed >= prompt; }
};

// Rows [first, first + rows) of one sequence.
struct Slice {
  std::int32_t sequence = 0;  // index into the sequences
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::int64_t logit_rows = 0;  // the last so many rows
  bool decodes = false;
};

struct SchedulerLimits {
  StepLimits step;
  std::int64_t slice_rows = 0;  // the most rows of one sequence
};

// Fills `slices` (of capacity for every sequence) from `sequences`, which stand in the order in
// which they arrived; slices that decode come first. Never empty while a sequence has pending
// tokens.
void PlanStep(std::span<const SequenceState> sequences, const SchedulerLimits& limits,
              std::vector<Slice>& slices);

}  // namespace tonnage
