#include "backend/host/step_inputs.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tonnage {

StepBounds StepBoundsOf(const ProgramSpec& spec, const HostPlan& plan) {
  std::int64_t vocab = std::numeric_limits<std::int32_t>::max();
  for (const Node& node : spec.graph->nodes) {
    if (node.op != Op::kEmbed) continue;
    const auto table = static_cast<size_t>(node.weights[0].id);
    vocab = std::min(vocab, spec.graph->weights[table].shape[0]);
  }
  return {.limits = spec.limits,
          .vocab = vocab,
          .context_tokens = spec.cache_settings.context_tokens,
          .slots = spec.cache_settings.slots,
          .max_slice_rows = spec.cache_settings.max_slice_rows,
          .pages_per_slot = plan.pages_per_slot};
}

Status StepInputChecker::Check(const StepInputs& inputs) {
  RETURN_IF_ERROR(CheckSizes(inputs));
  ++step_;
  const size_t rows = inputs.tokens.size();
  size_t begin = 0;
  for (size_t row = 0; row < rows; ++row) {
    RETURN_IF_ERROR(CheckRow(inputs, row));
    if (row + 1 < rows && inputs.slots[row + 1] == inputs.slots[row]) continue;
    RETURN_IF_ERROR(CheckSequence(inputs, begin, row + 1));
    begin = row + 1;
  }
  return CheckLogitRows(inputs);
}

Status StepInputChecker::CheckSizes(const StepInputs& inputs) const {
  const auto rows = static_cast<std::int64_t>(inputs.tokens.size());
  if (rows < 1 || rows > bounds_.limits.rows) {
    return InvalidArgument("a step of {} rows: the program takes 1 to {}", rows,
                           bounds_.limits.rows);
  }
  if (inputs.positions.size() != inputs.tokens.size() ||
      inputs.slots.size() != inputs.tokens.size()) {
    return InvalidArgument("a step of {} tokens, but {} positions and {} slots", rows,
                           inputs.positions.size(), inputs.slots.size());
  }
  if (inputs.decode_rows < 0 || inputs.decode_rows > rows) {
    return InvalidArgument("{} of the step's {} rows decode: 0 to {} are possible",
                           inputs.decode_rows, rows, rows);
  }
  const std::int64_t entries = bounds_.slots * bounds_.pages_per_slot;
  if (static_cast<std::int64_t>(inputs.page_table.size()) != entries && entries > 0) {
    return InvalidArgument("a page table of {} entries instead of {} slots of {} pages",
                           inputs.page_table.size(), bounds_.slots, bounds_.pages_per_slot);
  }
  return {};
}

Status StepInputChecker::CheckRow(const StepInputs& inputs, size_t row) const {
  if (inputs.tokens[row] < 0 || inputs.tokens[row] >= bounds_.vocab) {
    return InvalidArgument("row {}: token {} is outside the vocabulary of {}", row,
                           inputs.tokens[row], bounds_.vocab);
  }
  if (inputs.slots[row] < 0 || inputs.slots[row] >= bounds_.slots) {
    return InvalidArgument("row {}: slot {} is not one of {}", row, inputs.slots[row],
                           bounds_.slots);
  }
  if (inputs.positions[row] < 0 || inputs.positions[row] >= bounds_.context_tokens) {
    return InvalidArgument("row {}: position {} is outside the context of {}", row,
                           inputs.positions[row], bounds_.context_tokens);
  }
  return {};
}

Status StepInputChecker::CheckSequence(const StepInputs& inputs, size_t begin, size_t end) {
  const std::int32_t slot = inputs.slots[begin];
  std::uint64_t& seen = seen_[static_cast<size_t>(slot)];
  if (seen == step_) {
    return InvalidArgument("row {}: the rows of slot {} do not stand together", begin, slot);
  }
  seen = step_;
  if (static_cast<std::int64_t>(end - begin) > bounds_.max_slice_rows) {
    return InvalidArgument("slot {}: {} rows in one step, more than the {} of a slice", slot,
                           end - begin, bounds_.max_slice_rows);
  }
  for (size_t row = begin + 1; row < end; ++row) {
    if (inputs.positions[row] != inputs.positions[row - 1] + 1) {
      return InvalidArgument("row {}: position {} of slot {} does not follow position {}", row,
                             inputs.positions[row], slot, inputs.positions[row - 1]);
    }
  }
  if (bounds_.pages_per_slot == 0) return {};
  const std::int64_t pages = inputs.positions[end - 1] / kKvPageTokens + 1;
  for (std::int64_t page = 0; page < pages; ++page) {
    const std::int32_t id =
        inputs.page_table[static_cast<size_t>(slot * bounds_.pages_per_slot + page)];
    if (id < 0 || id >= bounds_.slots * bounds_.pages_per_slot) {
      return InvalidArgument("slot {}: page {} is physical page {}, not one of {}", slot, page, id,
                             bounds_.slots * bounds_.pages_per_slot);
    }
  }
  return {};
}

Status StepInputChecker::CheckLogitRows(const StepInputs& inputs) const {
  const auto count = static_cast<std::int64_t>(inputs.logit_rows.size());
  if (count > bounds_.limits.logit_rows) {
    return InvalidArgument("the logits of {} rows: the program gives at most {}", count,
                           bounds_.limits.logit_rows);
  }
  std::int32_t previous = -1;
  for (std::int32_t row : inputs.logit_rows) {
    if (row <= previous || row >= static_cast<std::int64_t>(inputs.tokens.size())) {
      return InvalidArgument("logits of row {} after row {}: they must rise within {} rows", row,
                             previous, inputs.tokens.size());
    }
    previous = row;
  }
  return {};
}

void CopyInputs(const StepInputs& inputs, const WorkspacePlan& plan, std::uint8_t* workspace) {
  const auto copy = [&](std::span<const std::int32_t> from, Bytes offset) {
    if (!from.empty()) std::memcpy(workspace + offset, from.data(), from.size_bytes());
  };
  copy(inputs.tokens, plan.tokens);
  copy(inputs.positions, plan.positions);
  copy(inputs.slots, plan.slots);
  copy(inputs.logit_rows, plan.logit_rows);
  // Where every layer has a window, no table was planned and none is read.
  copy(inputs.page_table.first(static_cast<size_t>(plan.page_table_entries)), plan.page_table);
}

}  // namespace tonnage
