#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "kernels/attention/attention.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

struct AttentionCase {
  AttentionShape shape;
  DType dtype = DType::kF32;
  std::int64_t tokens = 0;
  bool is_ring = false;
  bool has_sinks = false;
};

std::ostream& operator<<(std::ostream& out, const AttentionCase& c) {
  return out << c.shape.heads << " heads on " << c.shape.kv_heads << " of " << c.shape.k_dim
             << " and " << c.shape.v_dim << ", window " << c.shape.window << ", cap "
             << c.shape.soft_cap << ", " << DTypeName(c.dtype) << ", " << c.tokens << " tokens"
             << (c.is_ring ? " in a ring" : "") << (c.has_sinks ? " with sinks" : "");
}

// What is the same of a kernel for any rows and of one for prompts.
struct TestedKernel {
  std::string_view name;
  Bytes (*workspace_bytes)(const AttentionShape& shape, const AttentionLimits& limits);
  void (*run)(const AttentionArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool);
  bool is_for_prompts = false;
};

// The reference last.
std::vector<TestedKernel> TestedKernels() {
  std::vector<TestedKernel> tested;
  for (const PromptAttentionKernel& kernel : PromptAttentionKernels()) {
    if (!Runs(kernel, CpuFeatures::Detect())) continue;
    tested.push_back({kernel.name, kernel.workspace_bytes, kernel.run, true});
  }
  for (const AttentionKernel& kernel : RunnableKernels(AttentionKernels())) {
    tested.push_back({kernel.name, kernel.workspace_bytes, kernel.run});
  }
  return tested;
}

TestedKernel Reference() { return TestedKernels().back(); }

// How far a variant may be from the reference on numbers of deviation 1, which are less than 4 or
// so.
float Tolerance(const TestedKernel& kernel, const AttentionCase& c) {
  // Values and weights are rounded to 2^-9 of them, and scores by as much on average.
  if (kernel.is_for_prompts) return 4.0f * 2.0f * 0x1p-9f;
  // Queries and weights over codes are rounded to steps of 4 / 32767, averaged over many.
  return c.dtype == DType::kU8 ? 2e-4f : 3e-6f;
}

constexpr std::int64_t kSlots = 3;
constexpr std::int64_t kMaxRows = 150;
constexpr std::int64_t kSlice = 100;

// Inputs of one sequence, and caches in which it may lie in any slot.
class Sequence {
 public:
  explicit Sequence(const AttentionCase& c, unsigned seed = 1)
      : q(RandomFloats(c.tokens * c.shape.heads * c.shape.k_dim, seed)),
        k(RandomFloats(c.tokens * c.shape.kv_heads * c.shape.k_dim, seed + 1)),
        v(RandomFloats(c.tokens * c.shape.kv_heads * c.shape.v_dim, seed + 2)),
        sinks(RandomFloats(c.has_sinks ? c.shape.heads : 0, 99, 3.0f)) {}  // of every sequence
  std::vector<float> q, k, v, sinks;
};

class Cache {
 public:
  explicit Cache(const AttentionCase& c) : case_(c) {
    const std::int64_t capacity = c.is_ring ? c.shape.window + kSlice : c.tokens;
    pages_per_slot_ = CeilDiv(capacity, kAttentionPageTokens);
    for (std::int64_t slot = 0; slot < kSlots; ++slot) {
      for (std::int64_t page = 0; page < pages_per_slot_; ++page) {
        table_.push_back(static_cast<std::int32_t>(page * kSlots + (slot + 1) % kSlots));
      }
    }
    const Bytes bytes = kSlots * pages_per_slot_ * AttentionPageBytes(c.shape, c.dtype);
    bytes_.resize(static_cast<size_t>(bytes), 0xff);  // not numbers
  }
  KvPages pages() {
    return {.pages = bytes_.data(),
            .dtype = case_.dtype,
            .pages_per_slot = pages_per_slot_,
            .page_table = case_.is_ring ? nullptr : table_.data()};
  }

 private:
  AttentionCase case_;
  std::int64_t pages_per_slot_ = 0;
  std::vector<std::int32_t> table_;
  std::vector<std::uint8_t> bytes_;
};

// Rows of one sequence in a step.
struct Slice {
  const Sequence* sequence;
  std::int32_t slot;
  std::int64_t first;
  std::int64_t rows;
};

// The step's output, [rows, heads, v_dim].
std::vector<float> Step(const TestedKernel& kernel, const AttentionCase& c, Cache& cache,
                        const std::vector<Slice>& slices, ThreadPool& pool) {
  std::vector<float> q, k, v;
  std::vector<std::int32_t> positions, slots;
  const auto append = [](std::vector<float>& to, const std::vector<float>& from, std::int64_t width,
                         const Slice& slice) {
    to.insert(to.end(), from.begin() + slice.first * width,
              from.begin() + (slice.first + slice.rows) * width);
  };
  for (const Slice& slice : slices) {
    append(q, slice.sequence->q, c.shape.heads * c.shape.k_dim, slice);
    append(k, slice.sequence->k, c.shape.kv_heads * c.shape.k_dim, slice);
    append(v, slice.sequence->v, c.shape.kv_heads * c.shape.v_dim, slice);
    for (std::int64_t i = 0; i < slice.rows; ++i) {
      positions.push_back(static_cast<std::int32_t>(slice.first + i));
      slots.push_back(slice.slot);
    }
  }
  const auto rows = static_cast<std::int64_t>(positions.size());
  std::vector<float> out(static_cast<size_t>(rows * c.shape.heads * c.shape.v_dim));
  const AlignedBytes workspace(kernel.workspace_bytes(
      c.shape, {.rows = kMaxRows, .context_tokens = c.tokens, .threads = pool.threads()}));
  AttentionArgs args;
  args.shape = c.shape;
  args.cache = cache.pages();
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  if (c.has_sinks) args.sinks = slices[0].sequence->sinks.data();
  args.out = out.data();
  args.rows = rows;
  args.max_rows = kMaxRows;
  args.positions = positions.data();
  args.slots = slots.data();
  kernel.run(args, workspace.span(), pool);
  return out;
}

// The output of a whole sequence, fed in slices of `rows`.
std::vector<float> Whole(const TestedKernel& kernel, const AttentionCase& c,
                         const Sequence& sequence, std::int32_t slot, std::int64_t rows,
                         ThreadPool& pool) {
  Cache cache(c);
  std::vector<float> all;
  for (std::int64_t at = 0; at < c.tokens; at += rows) {
    const auto out =
        Step(kernel, c, cache, {{&sequence, slot, at, std::min(rows, c.tokens - at)}}, pool);
    all.insert(all.end(), out.begin(), out.end());
  }
  return all;
}

class Attention : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(Attention, EveryVariantMatchesTheReference) {
  const AttentionCase& c = GetParam();
  const Sequence sequence(c);
  ThreadPool pool(2);
  // The reference is quadratic and slow: long sequences are compared in their last rows only.
  const std::int64_t compared = std::min<std::int64_t>(c.tokens, 130);
  const std::int64_t width = c.shape.heads * c.shape.v_dim;
  for (const TestedKernel& kernel : TestedKernels()) {
    SCOPED_TRACE(kernel.name);
    if (kernel.name == "reference") continue;
    Cache cache(c);
    for (std::int64_t at = 0; at < c.tokens - compared; at += kSlice) {
      Step(kernel, c, cache, {{&sequence, 1, at, std::min(kSlice, c.tokens - compared - at)}},
           pool);
    }
    for (std::int64_t at = c.tokens - compared; at < c.tokens; at += 65) {
      const std::int64_t rows = std::min<std::int64_t>(65, c.tokens - at);
      const auto out = Step(kernel, c, cache, {{&sequence, 1, at, rows}}, pool);
      const auto expected = Step(Reference(), c, cache, {{&sequence, 1, at, rows}}, pool);
      ASSERT_EQ(out.size(), static_cast<size_t>(rows * width));
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], Tolerance(kernel, c)) << i;
    }
  }
}

TEST_P(Attention, SlicesCompanyAndThreadsChangeNoBit) {
  const AttentionCase& c = GetParam();
  const Sequence sequence(c);
  const Sequence other(c, 10);
  const std::int64_t width = c.shape.heads * c.shape.v_dim;
  for (const TestedKernel& kernel : TestedKernels()) {
    SCOPED_TRACE(kernel.name);
    if (kernel.name == "reference" && c.tokens > 130) continue;  // slow
    ThreadPool one(1), three(3);
    const std::vector<float> expected = Whole(kernel, c, sequence, 0, kSlice, one);
    EXPECT_EQ(Whole(kernel, c, sequence, 2, kSlice, three), expected);
    EXPECT_EQ(Whole(kernel, c, sequence, 1, 7, three), expected);
    if (c.tokens < 300) {
      EXPECT_EQ(Whole(kernel, c, sequence, 0, 1, three), expected);
    }

    Cache cache(c);
    for (std::int64_t at = 0; at < c.tokens; at += 30) {
      const std::int64_t rows = std::min<std::int64_t>(30, c.tokens - at);
      const auto out =
          Step(kernel, c, cache,
               {{&other, 2, at / 30, 1}, {&sequence, 0, at, rows}, {&other, 1, at, rows}}, three);
      for (std::int64_t i = 0; i < rows * width; ++i) {
        ASSERT_EQ(out[static_cast<size_t>(width + i)],
                  expected[static_cast<size_t>(at * width + i)]);
      }
    }
  }
}

AttentionShape Shape(std::int64_t heads, std::int64_t kv_heads, std::int64_t k_dim,
                     std::int64_t v_dim, std::int64_t window = 0, float soft_cap = 0.0f) {
  return {.heads = heads,
          .kv_heads = kv_heads,
          .k_dim = k_dim,
          .v_dim = v_dim,
          .scale = 1.0f / std::sqrt(static_cast<float>(k_dim)),
          .window = window,
          .soft_cap = soft_cap};
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Attention,
    ::testing::Values(AttentionCase{Shape(1, 1, 1, 1), DType::kF32, 70},
                      AttentionCase{Shape(9, 3, 64, 64), DType::kF32, 70},
                      AttentionCase{Shape(9, 3, 64, 64), DType::kF16, 140},
                      AttentionCase{Shape(9, 3, 64, 64), DType::kU8, 140},
                      AttentionCase{Shape(7, 1, 17, 83), DType::kU8, 200},
                      AttentionCase{Shape(4, 2, 128, 128), DType::kU8, 130},
                      AttentionCase{Shape(2, 1, 600, 8), DType::kU8, 130},
                      AttentionCase{Shape(4, 2, 16, 16, 50, 3.0f), DType::kU8, 250, true},
                      AttentionCase{Shape(3, 1, 8, 8), DType::kU8, 2700},
                      AttentionCase{Shape(6, 2, 16, 16), DType::kF32, 150, false, true},
                      AttentionCase{Shape(6, 2, 16, 16, 40, 5.0f), DType::kF16, 150, true, true},
                      AttentionCase{Shape(6, 2, 16, 16), DType::kU8, 150, false, true},
                      AttentionCase{Shape(4, 2, 24, 40), DType::kBF16, 200},
                      AttentionCase{Shape(7, 1, 17, 83), DType::kF16, 130},
                      AttentionCase{Shape(60, 1, 8, 8), DType::kF32, 130},
                      AttentionCase{Shape(4, 4, 80, 80), DType::kF32, 130},
                      AttentionCase{Shape(2, 2, 32, 32, 0, 3.0f), DType::kF32, 150},
                      AttentionCase{Shape(4, 2, 16, 16, 1), DType::kF32, 250, true},
                      AttentionCase{Shape(4, 2, 16, 16, 50), DType::kF16, 250, true},
                      AttentionCase{Shape(4, 2, 16, 16, 64), DType::kF32, 250, true},
                      AttentionCase{Shape(4, 2, 16, 16, 100), DType::kF32, 250},
                      AttentionCase{Shape(4, 1, 8, 8, 1500), DType::kF32, 2700, true},
                      AttentionCase{Shape(3, 1, 8, 8), DType::kF16, 2700}));

// Exact programs never take the kernels for prompts, nor does a processor without their
// instructions.
TEST(PromptAttention, IsChosenForFastProgramsThatCanRunIt) {
  CpuFeatures features = {.avx2 = true, .avx512 = true};
  EXPECT_EQ(SelectPromptAttention(Precision::kFast, features), nullptr);
  EXPECT_EQ(SelectPromptAttention(Precision::kFast, features, "avx2"), nullptr);
  EXPECT_EQ(SelectPromptAttention(Precision::kExact, features, "prompt_portable"), nullptr);
  const auto* portable = SelectPromptAttention(Precision::kFast, features, "prompt_portable");
  ASSERT_NE(portable, nullptr);
  EXPECT_EQ(portable->name, "prompt_portable");
#if defined(__x86_64__)
  features.avx512_bf16 = true;
  EXPECT_EQ(SelectPromptAttention(Precision::kFast, features)->name, "prompt_bf16");
  EXPECT_EQ(SelectPromptAttention(Precision::kFast, features, "prompt_amx"), nullptr);
  features.amx_bf16 = true;
  EXPECT_EQ(SelectPromptAttention(Precision::kFast, features)->name, "prompt_amx");
  EXPECT_EQ(SelectPromptAttention(Precision::kExact, features), nullptr);
#endif
}

// What an earlier sequence left in a page, even if it is no number, reaches nobody.
TEST(AttentionCache, StalePagesAreNotRead) {
  ThreadPool pool(2);
  for (const DType dtype : {DType::kF16, DType::kU8}) {
    const AttentionCase c{Shape(4, 2, 16, 16), dtype, 100};
    Sequence poison(c, 5);
    for (float& value : poison.k) value = std::numeric_limits<float>::infinity();
    for (float& value : poison.v) value = std::numeric_limits<float>::quiet_NaN();
    const Sequence sequence(c);
    for (const TestedKernel& kernel : TestedKernels()) {
      Cache fresh(c), stale(c);
      Step(kernel, c, stale, {{&poison, 0, 0, 100}}, pool);
      for (std::int64_t at = 0; at < 100; at += 25) {
        EXPECT_EQ(Step(kernel, c, stale, {{&sequence, 0, at, 25}}, pool),
                  Step(kernel, c, fresh, {{&sequence, 0, at, 25}}, pool))
            << kernel.name << " " << DTypeName(dtype);
      }
    }
  }
}

// out = sum_t e^s[t] v[t] / (sum_t e^s[t] + e^sink), in plain double arithmetic; a sink so large
// that it takes all of the softmax leaves nothing.
TEST(AttentionSinks, JoinTheDenominatorOnly) {
  const AttentionCase c{Shape(2, 1, 2, 1), DType::kF32, 2, false, true};
  Sequence sequence(c);
  sequence.q = {0, 0, 0, 0, 3, -1, 0.5f, 2};
  sequence.k = {1, 2, -2, 0.5f};
  sequence.v = {10, -4};
  ThreadPool pool(1);
  for (const TestedKernel& kernel : TestedKernels()) {
    SCOPED_TRACE(kernel.name);
    for (const float second : {-1.25f, 300.0f}) {
      sequence.sinks = {2.5f, second};
      Cache cache(c);
      const auto out = Step(kernel, c, cache, {{&sequence, 0, 0, 2}}, pool);
      for (size_t row = 0; row < 2; ++row) {
        for (size_t h = 0; h < 2; ++h) {
          const float* q = &sequence.q[4 * row + 2 * h];
          double sum = std::exp(static_cast<double>(sequence.sinks[h])), expected = 0;
          for (size_t t = 0; t <= row; ++t) {
            const double dot = static_cast<double>(q[0] * sequence.k[2 * t]) +
                               static_cast<double>(q[1] * sequence.k[2 * t + 1]);
            const double p = std::exp(dot / std::sqrt(2.0));
            sum += p;
            expected += p * static_cast<double>(sequence.v[t]);
          }
          const double tolerance = kernel.is_for_prompts ? 10 * 0x1p-8 : 1e-5;
          EXPECT_NEAR(out[2 * row + h], expected / sum, tolerance) << row << " " << h;
        }
      }
    }
  }
}

// A cache of codes keeps each number to half a step of its head's largest, and zeros.
TEST(AttentionCache, CodesKeepNumbersToHalfAStep) {
  const AttentionCase c{Shape(1, 1, 33, 33), DType::kU8, 64};
  Sequence sequence(c);
  for (std::int64_t i = 0; i < 33; ++i) {
    sequence.v[static_cast<size_t>(i)] = 0.0f;          // a head of zeros
    sequence.v[static_cast<size_t>(33 + i)] *= 1e-30f;  // and heads of extreme sizes
    sequence.v[static_cast<size_t>(66 + i)] *= 1e30f;
  }
  ThreadPool pool(1);
  for (const TestedKernel& kernel : TestedKernels()) {
    SCOPED_TRACE(kernel.name);
    AttentionCase window = c;
    window.shape.window = 1;  // a row's output is its own value
    Cache cache(c);
    const auto out = Step(kernel, window, cache, {{&sequence, 0, 0, 64}}, pool);
    for (std::int64_t row = 0; row < 64; ++row) {
      const auto* v = &sequence.v[static_cast<size_t>(row * 33)];
      float largest = 0.0f;
      for (int i = 0; i < 33; ++i) largest = std::max(largest, std::abs(v[i]));
      // Rounding a scale up to bf16 makes its steps coarser by up to 2^-7.
      const float half_step = largest / 127.0f * (1.0f + 0x1p-7f) / 2.0f;
      for (int i = 0; i < 33; ++i) {
        const float bf16 = kernel.is_for_prompts ? std::abs(v[i]) * 0x1p-7f : 0.0f;
        ASSERT_NEAR(out[static_cast<size_t>(row * 33 + i)], v[i], half_step * 1.001f + bf16) << row;
      }
    }
  }
}

}  // namespace
}  // namespace tonnage
