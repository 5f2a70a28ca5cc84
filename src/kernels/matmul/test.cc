// Every kernel of the tables that this processor can run, against plain arithmetic in double: exact
// kernels against the operands as they are, fast ones against operands rounded the same way (the
// tolerance is that of k additions in f32 for both) and against exact ones within the rounding's
// own bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/matmul/count_allocations.h"
#include "kernels/matmul/matmul.h"
#include "quant/rows.h"
#include "quant/testing.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

constexpr std::int64_t kRowCounts[] = {0, 1, 2, 3, 7, 8, 9, 17, 64, 100};
constexpr std::int64_t kAllRows = 100;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  // Mostly small numbers with an outlier here and there, as activations have.
  std::vector<float> Activations(std::int64_t count) {
    std::vector<float> values = Normal(count);
    for (float& value : values) value *= engine_() % 50 == 0 ? 20.0f : 1.0f;
    return values;
  }
  std::vector<float> Normal(std::int64_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = normal(engine_);
    return values;
  }
  QuantizedWeight Weight(const Format& format, std::int64_t experts, std::int64_t n,
                         std::int64_t k) {
    return RandomWeight(format, experts, n, k, engine_);
  }
  unsigned Below(unsigned limit) { return static_cast<unsigned>(engine_() % limit); }

 private:
  std::mt19937 engine_;
};

// Exactly the bytes asked for, so that a sanitizer sees the first one beyond.
class AlignedBytes {
 public:
  explicit AlignedBytes(Bytes bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(static_cast<std::uint8_t*>(std::aligned_alloc(64, RoundUp(bytes + 1, 64)))) {}
  std::uint8_t* data() { return data_.get(); }
  std::span<std::uint8_t> span() { return {data_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::uint8_t* data) const { std::free(data); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::uint8_t, Free> data_;
};

// A kernel for any rows, or one for prompts that reads the layout of the former.
struct Subject {
  const MatmulKernel* kernel = nullptr;
  const PromptMatmulKernel* prompt = nullptr;

  std::string_view name() const { return prompt != nullptr ? prompt->name : kernel->name; }
  bool Accepts(const Format& format, std::int64_t k, const CpuFeatures& features) const {
    return prompt != nullptr ? prompt->accepts(format, 1, k, features)
                             : kernel->accepts(format, 1, k, features);
  }
  Bytes WorkspaceBytes(std::int64_t rows, std::int64_t k, std::int64_t experts, int threads) const {
    return prompt != nullptr ? prompt->workspace_bytes(rows, k, experts, threads)
                             : kernel->workspace_bytes(rows, k, experts);
  }
  void Run(const MatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool) const {
    (prompt != nullptr ? prompt->run : kernel->run)(args, workspace, pool);
  }
  void RunExperts(const ExpertMatmulArgs& args, std::span<std::uint8_t> workspace,
                  ThreadPool& pool) const {
    (prompt != nullptr ? prompt->run_experts : kernel->run_experts)(args, workspace, pool);
  }
};

std::vector<Subject> AllSubjects() {
  std::vector<Subject> subjects;
  for (const MatmulKernel& kernel : MatmulKernels()) subjects.push_back({.kernel = &kernel});
  const MatmulKernel* const portable = subjects[subjects.size() - 2].kernel;
  for (const PromptMatmulKernel& prompt : PromptMatmulKernels())
    subjects.push_back({.kernel = portable, .prompt = &prompt});
  return subjects;
}

struct Packed {
  AlignedBytes bytes;
  PackedWeight weight;
};

Packed PackFor(const MatmulKernel& kernel, const QuantizedWeight& source, ThreadPool& pool) {
  const Bytes each = kernel.packed_bytes(source.format, source.n, source.k);
  EXPECT_EQ(each % 64, 0);
  Packed packed = {AlignedBytes(each * source.experts), {}};
  for (std::int64_t e = 0; e < source.experts; ++e) {
    kernel.pack(SliceRows(source.View(), e * source.n, source.n), 0, source.n,
                packed.bytes.data() + e * each, pool);
  }
  packed.weight = {.kernel = &kernel,
                   .format = source.format,
                   .experts = source.experts,
                   .n = source.n,
                   .k = source.k,
                   .data = packed.bytes.data()};
  return packed;
}

// y [rows, n] of x [rows, k], from buffers that are aligned to 4 bytes only.
std::vector<float> Multiply(const Subject& subject, const PackedWeight& weight, const float* x,
                            std::int64_t rows, ThreadPool& pool, const float* bias = nullptr) {
  AlignedBytes workspace(subject.WorkspaceBytes(rows, weight.k, 1, pool.threads()));
  std::vector<float> y(static_cast<std::size_t>(rows * weight.n + 1), NAN);
  const MatmulOutput output = {.weight = &weight, .bias = bias, .y = y.data() + 1};
  const int before = CountAllocations();
  subject.Run({.x = x, .rows = rows, .k = weight.k, .outputs = {&output, 1}}, workspace.span(),
              pool);
  EXPECT_EQ(CountAllocations(), before);
  y.erase(y.begin());
  return y;
}

std::vector<float> UnpackAll(const QuantizedWeight& weight) {
  const std::int64_t rows = weight.experts * weight.n;
  std::vector<float> values(static_cast<std::size_t>(rows * weight.k));
  for (std::int64_t row = 0; row < rows; ++row) {
    UnpackRow(weight.View(), row,
              std::span(values).subspan(static_cast<std::size_t>(row * weight.k),
                                        static_cast<std::size_t>(weight.k)));
  }
  return values;
}

// Numbers as a kernel sees them.
struct Rounded {
  std::vector<double> values;
  std::vector<double> bounds;  // how far each may be from what it stands for
  std::vector<double> sizes;   // what rounding errors are relative to: the largest of its group
};
// Every group of 32 in 255 steps from its least to its greatest.
Rounded InSteps(const std::vector<float>& x) {
  Rounded rounded;
  for (std::size_t g = 0; g < x.size(); g += 32) {
    const auto [low, high] = std::minmax_element(&x[g], &x[g] + 32);
    const float step = (*high - *low) / 255.0f, offset = *low + 128.0f * step;
    const double size = std::max(std::abs(*low), std::abs(*high));
    for (std::size_t i = g; i < g + 32; ++i) {
      const float steps = step == 0 ? 0 : (x[i] - offset) * (255.0f / (*high - *low));
      const float q = std::clamp(std::nearbyint(steps), -128.0f, 127.0f);
      rounded.values.push_back(double{step} * q + offset);
      rounded.bounds.push_back(0.501 * step + 1e-6 * size);
      rounded.sizes.push_back(size);
    }
  }
  return rounded;
}
Rounded AsTheyAre(const std::vector<float>& x) {
  Rounded same;
  same.values.assign(x.begin(), x.end());
  same.bounds.resize(x.size());
  for (const float value : x) same.sizes.push_back(std::abs(value));
  return same;
}
enum class Halves { kToEven, kAwayFromZero };
Rounded AsBf16(const std::vector<float>& x, Halves halves) {
  Rounded rounded;
  for (const float value : x) {
    const auto away =
        std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x8000u) & 0xffff0000u);
    rounded.values.push_back(halves == Halves::kToEven ? Bf16ToF32(F32ToBf16(value)) : away);
    rounded.bounds.push_back(std::ldexp(std::abs(value), -8));
    rounded.sizes.push_back(std::abs(value));
  }
  return rounded;
}

// What a kernel makes of both operands.
struct Seen {
  Rounded x;
  Rounded w;
};
Seen See(const Subject& subject, const std::vector<float>& x, const std::vector<float>& w) {
  if (subject.prompt != nullptr)
    return {AsBf16(x, Halves::kToEven), AsBf16(w, Halves::kAwayFromZero)};
  const bool fast = subject.kernel->precision == Precision::kFast;
  return {fast ? InSteps(x) : AsTheyAre(x), AsTheyAre(w)};
}

struct Expected {
  double value = 0;
  double exact = 0;      // without rounded activations
  double bound = 0;      // between the two
  double magnitude = 0;  // what rounding errors of sums are relative to
};

// Row m of x [., k] times row n of w [., k].
Expected Dot(const Seen& seen, const std::vector<float>& x, const std::vector<float>& w,
             std::int64_t m, std::int64_t n, std::int64_t k) {
  Expected sum;
  const auto x_at = static_cast<std::size_t>(m * k), w_at = static_cast<std::size_t>(n * k);
  const auto count = static_cast<std::size_t>(k);
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, seen.w.sizes[w_at + i]);
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = w[w_at + i];
    sum.value += seen.x.values[x_at + i] * seen.w.values[w_at + i];
    sum.exact += double{x[x_at + i]} * weight;
    sum.bound += seen.x.bounds[x_at + i] * std::abs(seen.w.values[w_at + i]) +
                 std::abs(double{x[x_at + i]}) * seen.w.bounds[w_at + i];
    // Affine kernels add d * q and m apart, which may each be twice the largest weight.
    sum.magnitude += seen.x.sizes[x_at + i] * 4 * largest;
  }
  return sum;
}

double Tolerance(std::int64_t k, double magnitude) {
  return std::ldexp(8 + 2 * std::sqrt(static_cast<double>(k)), -24) * magnitude;
}

using Case = std::tuple<Subject, Format>;

class EveryKernel : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!subject().Accepts(format(), PanelElements(format()), CpuFeatures::Detect())) {
      GTEST_SKIP() << subject().name() << " does not run " << format().Name()
                   << " on this processor";
    }
  }
  static const Subject& subject() { return std::get<0>(GetParam()); }
  static const MatmulKernel& kernel() { return *subject().kernel; }
  static const Format& format() { return std::get<1>(GetParam()); }

  ThreadPool one_{1};
  ThreadPool three_{3};
};

// Every kernel with every format that it takes on some processor.
std::vector<Case> AllCases() {
  const CpuFeatures everything = {.avx2 = true,
                                  .avx512 = true,
                                  .avx512_vnni = true,
                                  .avx512_bf16 = true,
                                  .amx_int8 = true,
                                  .amx_bf16 = true};
  std::vector<Case> cases;
  for (const Subject& subject : AllSubjects()) {
    for (const Format& format : AllFormats()) {
      if (subject.Accepts(format, PanelElements(format), everything)) {
        cases.emplace_back(subject, format);
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Matmul, EveryKernel, testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           std::string name(std::get<0>(info.param).name());
                           name += "_" + std::get<1>(info.param).Name();
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

TEST_P(EveryKernel, UnpacksWhatTheCheckpointHolds) {
  for (const std::int64_t n : {1, 16, 37}) {
    const std::int64_t k = 3 * PanelElements(format());
    const QuantizedWeight source = Random(1).Weight(format(), 1, n, k);
    const Packed packed = PackFor(kernel(), source, three_);
    const std::vector<float> expected = UnpackAll(source);
    std::vector<float> row(static_cast<std::size_t>(k));
    for (std::int64_t i = 0; i < n; ++i) {
      kernel().unpack_row(packed.weight, i, row.data());
      EXPECT_EQ(std::memcmp(row.data(), &expected[static_cast<std::size_t>(i * k)],
                            row.size() * sizeof(float)),
                0)
          << "row " << i << " of " << n;
    }
  }
}

TEST_P(EveryKernel, MultipliesAnyRowsAlike) {
  const std::int64_t block = PanelElements(format());
  for (const auto& [n, k] : {std::pair{std::int64_t{1}, block}, {16, 3 * block}, {37, 5 * block}}) {
    Random random(2);
    const QuantizedWeight source = random.Weight(format(), 1, n, k);
    const Packed packed = PackFor(kernel(), source, one_);
    const std::vector<float> w = UnpackAll(source);
    const std::vector<float> x = random.Activations(kAllRows * k);
    const std::vector<float> bias = random.Normal(n);
    const Seen seen = See(subject(), x, w);

    const std::vector<float> all =
        Multiply(subject(), packed.weight, x.data(), kAllRows, one_, bias.data());
    for (std::int64_t m = 0; m < kAllRows; ++m) {
      for (std::int64_t i = 0; i < n; ++i) {
        const float y = all[static_cast<std::size_t>(m * n + i)];
        const float b = bias[static_cast<std::size_t>(i)];
        const Expected expected = Dot(seen, x, w, m, i, k);
        const double tolerance = Tolerance(k, expected.magnitude + std::abs(b));
        ASSERT_NEAR(y, expected.value + b, tolerance) << "row " << m << ", output " << i;
        ASSERT_NEAR(y, expected.exact + b, expected.bound + tolerance)
            << "row " << m << ", output " << i;
      }
    }
    // Any slice of the rows on any number of threads gives the same bits.
    for (const std::int64_t rows : kRowCounts) {
      const std::int64_t first = (kAllRows - rows) / 3;
      for (ThreadPool* pool : {&one_, &three_}) {
        const std::vector<float> y =
            Multiply(subject(), packed.weight, x.data() + first * k, rows, *pool, bias.data());
        ASSERT_TRUE(y.empty() ||
                    std::memcmp(y.data(), all.data() + first * n, y.size() * sizeof(float)) == 0)
            << rows << " rows from " << first << ", " << pool->threads() << " threads";
      }
    }
  }
}

TEST_P(EveryKernel, RunsExpertsAsTheirOwnMatrices) {
  constexpr std::int64_t kExperts = 5, kTopK = 3, kN = 21, kM = 16;
  const std::int64_t k = 2 * PanelElements(format());
  Random random(3);
  const Packed packed[] = {PackFor(kernel(), random.Weight(format(), kExperts, kN, k), three_),
                           PackFor(kernel(), random.Weight(format(), kExperts, kM, k), three_)};
  for (const std::int64_t rows : {0, 1, 4, 33}) {
    for (const bool input_per_expert : {false, true}) {
      const std::int64_t pairs = rows * kTopK;
      const std::vector<float> x = random.Activations((input_per_expert ? pairs : rows) * k);
      std::vector<std::int32_t> ids(static_cast<std::size_t>(pairs));
      for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.Below(kExperts + 2)) - 1;
      std::vector<float> y[] = {std::vector<float>(static_cast<std::size_t>(pairs * kN), NAN),
                                std::vector<float>(static_cast<std::size_t>(pairs * kM), NAN)};
      const ExpertOutput outputs[] = {{&packed[0].weight, y[0].data()},
                                      {&packed[1].weight, y[1].data()}};
      AlignedBytes workspace(subject().WorkspaceBytes(pairs, k, kExperts, three_.threads()));
      const int before = CountAllocations();
      subject().RunExperts({.x = x.data(),
                            .input_per_expert = input_per_expert,
                            .rows = rows,
                            .top_k = kTopK,
                            .ids = ids.data(),
                            .outputs = outputs},
                           workspace.span(), three_);
      EXPECT_EQ(CountAllocations(), before);
      for (std::int64_t i = 0; i < 2 * pairs; ++i) {
        const ExpertOutput& output = outputs[i % 2];
        const std::int64_t pair = i / 2, n = output.weight->n;
        const std::int32_t id = ids[static_cast<std::size_t>(pair)];
        std::vector<float> expected(static_cast<std::size_t>(n), 0.0f);
        if (id >= 0 && id < kExperts) {
          PackedWeight expert = *output.weight;
          expert.experts = 1;
          expert.data += id * kernel().packed_bytes(format(), n, k);
          const std::int64_t x_row = input_per_expert ? pair : pair / kTopK;
          expected = Multiply(subject(), expert, x.data() + x_row * k, 1, one_);
        }
        ASSERT_EQ(
            std::memcmp(output.y + pair * n, expected.data(), expected.size() * sizeof(float)), 0)
            << "pair " << pair << " of " << pairs << ", expert " << id << ", output " << i % 2;
      }
    }
  }
}

TEST_P(EveryKernel, PassesOnWhatIsNoNumber) {
  const std::int64_t k = 2 * PanelElements(format());
  Random random(4);
  const QuantizedWeight source = random.Weight(format(), 1, 16, k);
  const Packed packed = PackFor(kernel(), source, one_);
  std::vector<float> x = random.Normal(3 * k);
  std::fill_n(x.begin(), k, 0.0f);
  x[static_cast<std::size_t>(k + 1)] = NAN;
  const std::vector<float> y = Multiply(subject(), packed.weight, x.data(), 3, one_);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(y[i], 0.0f);
    EXPECT_TRUE(std::isnan(y[16 + i]));
    EXPECT_FALSE(std::isnan(y[32 + i]));
  }
}

TEST(Matmul, SharesTheActivationsOfSeveralOutputs) {
  ThreadPool pool(3);
  const std::int64_t k = 256, rows = 5;
  for (const Subject& subject : AllSubjects()) {
    if (!subject.Accepts(Format::Of(FormatKind::kQ4_1), k, CpuFeatures::Detect())) continue;
    Random random(5);
    const std::vector<float> x = random.Activations(rows * k);
    std::vector<Packed> packed;
    for (const FormatKind kind : {FormatKind::kQ4_1, FormatKind::kQ8_0, FormatKind::kQ6_K}) {
      const auto n = static_cast<std::int64_t>(20 + 30 * packed.size());
      packed.push_back(PackFor(*subject.kernel, random.Weight(Format::Of(kind), 1, n, k), pool));
    }
    std::vector<std::vector<float>> y;
    std::vector<MatmulOutput> outputs;
    for (const Packed& p : packed) {
      y.emplace_back(static_cast<std::size_t>(rows * p.weight.n));
      outputs.push_back({.weight = &p.weight, .y = y.back().data()});
    }
    AlignedBytes workspace(subject.WorkspaceBytes(rows, k, 1, pool.threads()));
    subject.Run({.x = x.data(), .rows = rows, .k = k, .outputs = outputs}, workspace.span(), pool);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      EXPECT_EQ(y[i], Multiply(subject, packed[i].weight, x.data(), rows, pool)) << subject.name();
    }
  }
}

TEST(CountAllocations, Counts) {
  const int before = CountAllocations();
  ::operator delete(::operator new(1));
  EXPECT_EQ(CountAllocations(), before + 1);
}

TEST(Matmul, PanelsKeepWhatIsNoNumber) {
  const Format fp8 = Format::Fp8(32, DType::kF32);
  std::mt19937 engine(6);
  QuantizedWeight source = RandomWeight(fp8, 1, 3, 64, engine);
  source.data[64 + 5] = 0xff;
  ThreadPool pool(1);
  const std::vector<float> x(64, 1.0f);
  for (const Subject& subject : AllSubjects()) {
    if (!subject.Accepts(fp8, 64, CpuFeatures::Detect())) continue;
    const Packed packed = PackFor(*subject.kernel, source, pool);
    std::vector<float> row(64);
    subject.kernel->unpack_row(packed.weight, 1, row.data());
    EXPECT_TRUE(std::isnan(row[5])) << subject.name();
    const std::vector<float> y = Multiply(subject, packed.weight, x.data(), 1, pool);
    EXPECT_FALSE(std::isnan(y[0])) << subject.name();
    EXPECT_TRUE(std::isnan(y[1])) << subject.name();
  }
}

}  // namespace
}  // namespace tonnage
