#include "engine/scheduler.h"

#include <algorithm>

namespace tonnage {

void PlanStep(std::span<const SequenceState> sequences, const SchedulerLimits& limits,
              std::vector<Slice>& slices) {
  slices.clear();
  std::int64_t rows_left = limits.step.rows;
  std::int64_t logit_rows_left = limits.step.logit_rows;
  const auto take = [&](size_t index, std::int64_t rows) {
    const SequenceState& sequence = sequences[index];
    std::int64_t logit_rows = rows == sequence.pending() ? 1 : 0;
    if (sequence.all_logits) logit_rows = rows = std::min(rows, logit_rows_left);
    // A prompt's last row waits for a step that has room for its logits.
    if (logit_rows > logit_rows_left) logit_rows = 0, --rows;
    if (rows <= 0) return;
    slices.push_back({static_cast<std::int32_t>(index), sequence.computed, rows, logit_rows,
                      sequence.decodes()});
    rows_left -= rows;
    logit_rows_left -= logit_rows;
  };
  // Two passes, so that however long the prompts, every stream gets its token in every step.
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].decodes()) take(i, std::min<std::int64_t>(1, rows_left));
  }
  for (size_t i = 0; i < sequences.size() && rows_left > 0; ++i) {
    if (sequences[i].pending() > 0 && !sequences[i].decodes()) {
      take(i, std::min({sequences[i].pending(), limits.slice_rows, rows_left}));
    }
  }
}

}  // namespace tonnage
