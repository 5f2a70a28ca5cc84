#include "engine/scheduler.h"

#include <gtest/gtest.h>

namespace tonnage {

bool operator==(const Slice& a, const Slice& b) {
  return a.sequence == b.sequence && a.first == b.first && a.rows == b.rows &&
         a.logit_rows == b.logit_rows;
}
void PrintTo(const Slice& s, std::ostream* out) {
  *out << "{" << s.sequence << ", " << s.first << ", " << s.rows << ", " << s.logit_rows << "}";
}

namespace {

std::vector<Slice> Plan(const std::vector<SequenceState>& sequences, SchedulerLimits limits) {
  std::vector<Slice> slices;
  PlanStep(sequences, limits, slices);
  return slices;
}

constexpr SchedulerLimits kLimits{.step = {.rows = 12, .logit_rows = 4}, .slice_rows = 8};

TEST(Scheduler, NothingPendingNothingPlanned) {
  EXPECT_TRUE(Plan({}, kLimits).empty());
  EXPECT_TRUE(Plan({{.known = 5, .computed = 5}}, kLimits).empty());
}

TEST(Scheduler, DecodeRowsFirstThenTheOldestPrompt) {
  const std::vector<SequenceState> sequences = {{.known = 30, .computed = 8},
                                                {.known = 9, .computed = 8},
                                                {.known = 20, .computed = 0},
                                                {.known = 7, .computed = 6}};
  const std::vector<Slice> expected = {{1, 8, 1, 1}, {3, 6, 1, 1}, {0, 8, 8, 0}, {2, 0, 2, 0}};
  EXPECT_EQ(Plan(sequences, kLimits), expected);
}

// However a prompt is cut, its last row is a prompt's.
TEST(Scheduler, ARowOfAPromptDoesNotDecode) {
  std::vector<Slice> slices;
  PlanStep(std::vector<SequenceState>{{.known = 9, .computed = 8, .prompt = 9},
                                      {.known = 9, .computed = 8, .prompt = 8}},
           kLimits, slices);
  const std::vector<Slice> expected = {{1, 8, 1, 1}, {0, 8, 1, 1}};
  EXPECT_EQ(slices, expected);
  EXPECT_TRUE(slices[0].decodes);
  EXPECT_FALSE(slices[1].decodes);
}

TEST(Scheduler, ThePromptsLastSliceAsksForLogits) {
  const std::vector<Slice> expected = {{0, 10, 5, 1}, {1, 0, 7, 0}};
  EXPECT_EQ(Plan({{.known = 15, .computed = 10}, {.known = 9, .computed = 0}}, kLimits), expected);
}

TEST(Scheduler, EvaluationAsksForEveryRowsLogitsWithinTheLimit) {
  const std::vector<Slice> expected = {{1, 4, 1, 1}, {0, 0, 3, 3}, {2, 0, 5, 0}};
  EXPECT_EQ(Plan({{.known = 9, .computed = 0, .all_logits = true},
                  {.known = 5, .computed = 4},
                  {.known = 6, .computed = 0}},
                 kLimits),
            expected);
}

// Whatever the mix, every sequence is computed once, in order, within the limits; every stream that
// decodes gets a row in every step; the oldest prompt always moves.
TEST(Scheduler, EverySequenceIsComputedExactlyOnce) {
  for (std::int64_t slice_rows : {1, 3, 8, 12}) {
    for (std::int64_t logit_rows : {4, 7}) {
      const SchedulerLimits limits{.step = {.rows = 12, .logit_rows = logit_rows},
                                   .slice_rows = slice_rows};
      std::vector<SequenceState> sequences = {
          {.known = 33}, {.known = 1}, {.known = 17, .all_logits = true}, {.known = 12}};
      std::vector<std::int64_t> logits_seen(4);
      std::vector<Slice> slices;
      int steps = 0;
      for (; steps < 200; ++steps) {
        PlanStep(sequences, limits, slices);
        if (slices.empty()) break;
        std::int64_t rows = 0, wanted = 0;
        for (const Slice& slice : slices) {
          auto& sequence = sequences[static_cast<size_t>(slice.sequence)];
          ASSERT_EQ(slice.first, sequence.computed);
          ASSERT_TRUE(slice.rows >= 1 && slice.rows <= std::min(slice_rows, sequence.pending()));
          sequence.computed += slice.rows;
          rows += slice.rows;
          wanted += slice.logit_rows;
          logits_seen[static_cast<size_t>(slice.sequence)] += slice.logit_rows;
        }
        ASSERT_LE(rows, 12);
        ASSERT_LE(wanted, logit_rows);
      }
      for (const auto& sequence : sequences) EXPECT_EQ(sequence.pending(), 0);
      EXPECT_EQ(logits_seen, (std::vector<std::int64_t>{1, 1, 17, 1}));
    }
  }
}

}  // namespace
}  // namespace tonnage
