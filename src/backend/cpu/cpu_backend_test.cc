#include "backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "backend/cpu/allocation_count_for_test.h"
#include "backend/cpu/testing.h"
#include "backend/interpreter_for_test.h"

namespace tonnage {
namespace {

// Every level of instructions that this processor has, and the references.
std::vector<CpuBackendOptions> AllOptions() {
  std::vector<CpuBackendOptions> all = {
      {.features = CpuFeatures::Detect(), .threads = 2, .kernel = "reference"},
      {.features = CpuFeatures::Detect(), .threads = 3, .kernel = "prompt_portable"}};
  int threads = 0;
  for (const char* level : {"portable", "avx2", "avx512", "vnni", "amx"}) {
    all.push_back(
        {.features = *CpuFeatures::Detect().LoweredTo(level), .threads = 1 + threads++ % 3});
  }
  return all;
}

std::string Describe(const CpuBackendOptions& options) {
  return options.features.ToString() + " " + options.kernel + ", threads " +
         std::to_string(options.threads);
}

TEST(CpuBackend, MatchesTheObviousComputation) {
  const auto tokens = RandomTokens(kContext, 1);
  std::vector<double> expected;  // once: every decoder has the same weights
  for (const CpuBackendOptions& options : AllOptions()) {
    SCOPED_TRACE(Describe(options));
    Decoder decoder(options);
    ASSERT_TRUE(decoder.Load().ok());
    if (expected.empty()) expected = Interpreter(decoder.graph, decoder.weights).Logits(tokens);
    const std::vector<float> logits = decoder.Sequence(1, tokens, 70);
    ASSERT_EQ(logits.size(), expected.size());
    for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 2e-4) << i;
  }
}

TEST(CpuBackend, RoundsTheCacheToItsType) {
  const auto tokens = RandomTokens(100, 1);
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::kF16, 5e-3}, std::pair{DType::kBF16, 4e-2}}) {
    Decoder decoder({.features = CpuFeatures::Detect()}, dtype);
    ASSERT_TRUE(decoder.Load().ok());
    const std::vector<double> expected = Interpreter(decoder.graph, decoder.weights).Logits(tokens);
    const std::vector<float> logits = decoder.Sequence(1, tokens, 70);
    for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], tolerance);
  }
}

// Now and then the steps of 8-bit numbers choose another expert, so that it is the mean that
// counts.
TEST(CpuBackend, ACacheOfCodesIsCloseOnAverage) {
  const auto tokens = RandomTokens(100, 1);
  Decoder decoder({.features = CpuFeatures::Detect()}, DType::kU8);
  ASSERT_TRUE(decoder.Load().ok());
  const std::vector<double> expected = Interpreter(decoder.graph, decoder.weights).Logits(tokens);
  const std::vector<float> logits = decoder.Sequence(1, tokens, 70);
  double difference = 0.0, magnitude = 0.0;
  for (size_t i = 0; i < logits.size(); ++i) {
    difference += std::abs(static_cast<double>(logits[i]) - expected[i]);
    magnitude += std::abs(expected[i]);
  }
  EXPECT_GT(difference, 0.0);
  EXPECT_LT(difference, 0.01 * magnitude) << difference / magnitude;
}

TEST(CpuBackend, SlicesCompanyAndThreadsChangeNoBit) {
  const auto tokens = RandomTokens(200, 2);
  for (CpuBackendOptions options : AllOptions()) {
    SCOPED_TRACE(Describe(options));
    Decoder alone(options);
    ASSERT_TRUE(alone.Load().ok());
    const std::vector<float> expected = alone.Sequence(0, tokens, 70);
    EXPECT_EQ(alone.Sequence(0, tokens, 1), expected);
    EXPECT_EQ(alone.Sequence(2, tokens, 33), expected);

    options.threads = options.threads % 3 + 1;
    Decoder accompanied(options);
    ASSERT_TRUE(accompanied.Load().ok());
    for (std::int32_t at = 0; at < 200; at += 10) {
      const Slice ours{1, at, {tokens.begin() + at, tokens.begin() + at + 10}};
      const Slice decode{0, at / 10, RandomTokens(1, static_cast<unsigned>(at))};
      const Slice prefill{2, at / 10 * 11, RandomTokens(11, static_cast<unsigned>(at))};
      const std::vector<float> logits = accompanied.Step({decode, ours, prefill});
      for (size_t i = 0; i < 10 * kVocab; ++i) {
        ASSERT_EQ(logits[kVocab + i], expected[static_cast<size_t>(at) * kVocab + i]);
      }
    }
  }
}

// A step of both kinds gives each row what a step of its kind alone gives it.
TEST(CpuBackend, RowsThatDecodeAndRowsOfPromptsTakeTheirOwnKernels) {
  const CpuFeatures none;
  Decoder both({.features = none, .threads = 2, .kernel = "prompt_portable"});
  Decoder one({.features = none, .threads = 2});
  for (Decoder* decoder : {&both, &one}) {
    decoder->spec.precision = Precision::kFast;
    ASSERT_TRUE(decoder->Load().ok());
  }
  const Slice decode{0, 0, RandomTokens(1, 5)}, prompt{1, 0, RandomTokens(40, 6)};
  const std::vector<float> decoded = one.Step({decode}), prompted = both.Step({prompt});
  EXPECT_NE(both.Step({decode}), decoded) << "a prompt of one row takes the kernel for prompts";
  EXPECT_NE(one.Step({prompt}), prompted);

  std::vector<float> expected = decoded;
  expected.insert(expected.end(), prompted.begin(), prompted.end());
  EXPECT_EQ(both.Step({decode, prompt}, 1), expected);
  EXPECT_FALSE(both.TryStep({decode}, 2).ok());
  EXPECT_FALSE(both.TryStep({decode}, -1).ok());
}

TEST(CpuBackend, PriceIsWhatIsAllocated) {
  for (const CpuBackendOptions& options : AllOptions()) {
    Decoder decoder(options, DType::kF16);
    const auto price = decoder.backend.Price(decoder.spec);
    ASSERT_TRUE(price.ok());
    ASSERT_TRUE(decoder.Load().ok());
    EXPECT_EQ(decoder.ledger.Of(Owner::kWeights), price->weights);
    EXPECT_EQ(decoder.ledger.Of(Owner::kKv), price->kv);
    EXPECT_EQ(decoder.ledger.Of(Owner::kArena), price->arena);
    EXPECT_EQ(decoder.ledger.Of(Owner::kWorkspace), price->workspace);
    EXPECT_EQ(decoder.ledger.Total(), price->Total());
    EXPECT_EQ(decoder.ledger.Peak(), price->Total());
    decoder.program.reset();
    EXPECT_EQ(decoder.ledger.Total(), 0);
  }
}

TEST(CpuBackend, RefusesCleanlyUntilItFits) {
  Bytes needed = 0;
  for (Bytes memory = 0;; memory += 20000) {
    Decoder decoder({.features = CpuFeatures::Detect()}, DType::kF16, memory);
    needed = decoder.backend.Price(decoder.spec)->Total();
    const Status status = decoder.Load();
    if (status.ok()) {
      EXPECT_GE(memory, needed);
      break;
    }
    EXPECT_LT(memory, needed);
    EXPECT_EQ(status.error().code(), Code::kRefused);
    EXPECT_EQ(decoder.ledger.Total(), 0);
  }
}

TEST(AllocationCount, CountsBothKinds) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer has its own operator new";
  struct alignas(128) Wide {
    char bytes[128];
  };
  const std::int64_t before = AllocationCount();
  const auto plain = std::make_unique<int>(1);
  const auto wide = std::make_unique<Wide>();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide.get()) % 128, 0u);
  EXPECT_EQ(AllocationCount(), before + 2);
}

TEST(CpuBackend, NothingIsAllocatedWhileStepping) {
  if (!kCountsAllocations) GTEST_SKIP() << "a sanitizer has its own operator new";
  for (const CpuBackendOptions& options : AllOptions()) {
    SCOPED_TRACE(Describe(options));
    Decoder decoder(options, DType::kF16);
    ASSERT_TRUE(decoder.Load().ok());
    const std::vector<std::int32_t> tokens(kSlots, 3), slots = {0, 1, 2}, logit_rows = {0, 1, 2};
    const std::int64_t before = AllocationCount();
    for (std::int32_t position = 0; position < kContext; ++position) {
      const std::array<std::int32_t, kSlots> positions = {position, position, position};
      auto event = decoder.backend.Submit(*decoder.program, {.tokens = tokens,
                                                             .positions = positions,
                                                             .slots = slots,
                                                             .logit_rows = logit_rows,
                                                             .page_table = decoder.page_table});
      ASSERT_TRUE(event.ok() && decoder.backend.Wait(*event).ok());
    }
    EXPECT_EQ(AllocationCount(), before);
    EXPECT_EQ(decoder.ledger.Peak(), decoder.ledger.Total());
  }
}

TEST(CpuBackend, RunsTwoProgramsInTheOrderOfSubmission) {
  Decoder decoder({.features = CpuFeatures::Detect(), .threads = 2});
  ASSERT_TRUE(decoder.Load().ok());
  auto first = std::move(decoder.program);
  ASSERT_TRUE(decoder.Load().ok());
  const auto tokens = RandomTokens(60, 4);
  std::vector<std::int32_t> positions, slots(60, 0);
  for (std::int32_t i = 0; i < 60; ++i) positions.push_back(i);
  const std::vector<std::int32_t> logit_rows = {59};
  const StepInputs inputs{.tokens = tokens,
                          .positions = positions,
                          .slots = slots,
                          .logit_rows = logit_rows,
                          .page_table = decoder.page_table};
  std::uint64_t last = 0;
  for (int round = 0; round < 20; ++round) {
    const auto a = decoder.backend.Submit(*first, inputs);
    const auto b = decoder.backend.Submit(*decoder.program, inputs);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_GT(a->sequence, last);
    EXPECT_GT(b->sequence, a->sequence);
    last = b->sequence;
  }
  std::thread waiter([&] { EXPECT_TRUE(decoder.backend.Wait({last}).ok()); });
  EXPECT_TRUE(decoder.backend.Wait({last}).ok());
  waiter.join();
  EXPECT_TRUE(std::ranges::equal(first->logits(), decoder.program->logits()));
  EXPECT_FALSE(decoder.backend.Wait({last + 1}).ok());
}

// Each thread must find the logits of the step that it waited for, not those of an earlier one.
TEST(CpuBackend, ProgramsOfOneBackendMayBeDrivenByDifferentThreads) {
  Decoder decoder({.features = CpuFeatures::Detect(), .threads = 2});
  ASSERT_TRUE(decoder.Load().ok());
  std::unique_ptr<Program> first = std::move(decoder.program);
  ASSERT_TRUE(decoder.Load().ok());
  const std::vector<std::int32_t> zero = {0};
  const auto logits_of = [&](Program& program, std::int32_t token) {
    const std::vector<std::int32_t> tokens = {token};
    const auto event = decoder.backend.Submit(program, {.tokens = tokens,
                                                        .positions = zero,
                                                        .slots = zero,
                                                        .logit_rows = zero,
                                                        .page_table = decoder.page_table});
    EXPECT_TRUE(event.ok() && decoder.backend.Wait(*event).ok());
    return std::vector<float>(program.logits().begin(), program.logits().end());
  };
  constexpr std::int32_t kTokens = 8;
  std::vector<std::vector<float>> expected;
  for (std::int32_t token = 0; token < kTokens; ++token) {
    expected.push_back(logits_of(*first, token));
  }
  const auto drive = [&](Program& program) {
    for (std::int32_t i = 0; i < 2000; ++i) {
      ASSERT_EQ(logits_of(program, i % kTokens), expected[static_cast<size_t>(i % kTokens)]) << i;
    }
  };
  std::thread other([&] { drive(*first); });
  drive(*decoder.program);
  other.join();
}

TEST(CpuBackend, EndsWithAStepStillQueued) {
  Decoder decoder({.features = CpuFeatures::Detect(), .threads = 2});
  ASSERT_TRUE(decoder.Load().ok());
  const std::vector<std::int32_t> one = {0};
  const auto event = decoder.backend.Submit(*decoder.program, {.tokens = one,
                                                               .positions = one,
                                                               .slots = one,
                                                               .logit_rows = one,
                                                               .page_table = decoder.page_table});
  ASSERT_TRUE(event.ok());
  decoder.program.reset();
  EXPECT_EQ(decoder.ledger.Total(), 0);
  EXPECT_TRUE(decoder.backend.Wait(*event).ok());
}

TEST(CpuBackend, WindowsAloneNeedNoPageTable) {
  Decoder decoder({.features = CpuFeatures::Detect()});
  decoder.cache.layers[1].window = decoder.cache.layers[0].window;
  for (Node& node : decoder.graph.nodes) {
    if (auto* attrs = std::get_if<AttentionAttrs>(&node.attrs)) {
      attrs->window = decoder.cache.layers[0].window;
    }
  }
  const auto tokens = RandomTokens(60, 5);
  ASSERT_TRUE(decoder.Load().ok());
  const std::vector<float> expected = decoder.Sequence(0, tokens, 60);
  decoder.page_table.assign(100000, 1000);  // is not looked at, and has no place
  EXPECT_EQ(decoder.Sequence(0, tokens, 60), expected);
  decoder.page_table.clear();
  EXPECT_EQ(decoder.Sequence(0, tokens, 60), expected);
}

}  // namespace
}  // namespace tonnage
