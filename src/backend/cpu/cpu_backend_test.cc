#include "backend/cpu/cpu_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <thread>

#include "backend/cpu/allocation_count_for_test.h"
#include "backend/interpreter_for_test.h"
#include "graph/rewrite.h"
#include "graph/test_graphs.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kVocab = 50;
constexpr std::int64_t kContext = 300;
constexpr std::int64_t kSlots = 3;
constexpr std::int64_t kPages = 5;  // of a context

std::vector<std::vector<float>> RandomWeights(const Graph& graph) {
  std::mt19937 random(7);
  std::vector<std::vector<float>> weights;
  for (const WeightSpec& spec : graph.weights) {
    const auto fan_in = static_cast<float>(spec.shape[spec.shape.rank() - 1]);
    const bool is_norm = spec.shape.rank() == 1 && spec.name.find("norm") != std::string::npos;
    std::normal_distribution<float> number(is_norm ? 1.0f : 0.0f, 1.0f / std::sqrt(fan_in));
    std::vector<float> weight(static_cast<size_t>(spec.shape.elements()));
    for (float& w : weight) w = number(random);
    weights.push_back(std::move(weight));
  }
  return weights;
}

std::vector<std::int32_t> RandomTokens(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::int32_t> token(0, kVocab - 1);
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(token(random));
  return tokens;
}

// Rows of one slot in a step.
struct Slice {
  std::int32_t slot;
  std::int32_t first_position;
  std::vector<std::int32_t> tokens;
};

// A decoder on a CPU backend, with everything that both need.
struct Decoder {
  explicit Decoder(CpuBackendOptions options, DType kv_dtype = DType::kF32,
                   Bytes memory = Bytes{1} << 30)
      : budget(memory, 100, "the test"),
        allocator(&ledger, &budget),
        backend(options, allocator, ledger),
        graph(MergeLinears(TestDecoder())),
        cache(TestDecoderCache()),
        weights(RandomWeights(graph)),
        formats(graph.weights.size(), Format::Of(FormatKind::kF32)) {
    spec = {.graph = &graph,
            .formats = formats,
            .cache = &cache,
            .cache_settings = {.context_tokens = kContext,
                               .slots = kSlots,
                               .max_slice_rows = 70,
                               .kv_dtype = kv_dtype},
            .limits = {.rows = 100, .logit_rows = 100},
            .precision = Precision::kExact};
    // Pages of the slots are interleaved, so that no page lies at its own index.
    for (std::int32_t slot = 0; slot < kSlots; ++slot) {
      for (std::int32_t page = 0; page < kPages; ++page) {
        page_table.push_back(page * kSlots + (slot + 1) % kSlots);
      }
    }
  }

  Status Load() {
    ASSIGN_OR_RETURN(auto store, backend.MakeWeightStore(spec));
    for (size_t id = 0; id < graph.weights.size(); ++id) {
      const Shape& shape = graph.weights[id].shape;
      const int rank = shape.rank();
      RETURN_IF_ERROR(
          store->Store({static_cast<int>(id)}, 0,
                       {.format = formats[id],
                        .experts = rank == 3 ? shape[0] : 1,
                        .n = rank == 1 ? 1 : shape[rank - 2],
                        .k = shape[rank - 1],
                        .data = reinterpret_cast<const std::uint8_t*>(weights[id].data())}));
    }
    ASSIGN_OR_RETURN(program, backend.MakeProgram(spec, std::move(store)));
    return {};
  }

  // The step's logits, one row a token.
  std::vector<float> Step(const std::vector<Slice>& slices) {
    std::vector<std::int32_t> tokens, positions, slots, logit_rows;
    for (const Slice& slice : slices) {
      for (size_t i = 0; i < slice.tokens.size(); ++i) {
        logit_rows.push_back(static_cast<std::int32_t>(tokens.size()));
        tokens.push_back(slice.tokens[i]);
        positions.push_back(slice.first_position + static_cast<std::int32_t>(i));
        slots.push_back(slice.slot);
      }
    }
    auto event = backend.Submit(*program, {.tokens = tokens,
                                           .positions = positions,
                                           .slots = slots,
                                           .logit_rows = logit_rows,
                                           .page_table = page_table});
    EXPECT_TRUE(event.ok()) << event.error().message();
    EXPECT_TRUE(backend.Wait(*event).ok());
    const std::span<const float> logits = program->logits();
    return {logits.begin(), logits.end()};
  }

  // The logits of a whole sequence that is fed in slices of `rows`.
  std::vector<float> Sequence(std::int32_t slot, const std::vector<std::int32_t>& tokens,
                              size_t rows) {
    std::vector<float> all;
    for (size_t at = 0; at < tokens.size(); at += rows) {
      const size_t end = std::min(tokens.size(), at + rows);
      const auto logits = Step({{slot,
                                 static_cast<std::int32_t>(at),
                                 {tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                  tokens.begin() + static_cast<std::ptrdiff_t>(end)}}});
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }

  Ledger ledger;
  Budget budget;
  HostAllocator allocator;
  CpuBackend backend;
  Graph graph;
  CacheLayout cache;
  std::vector<std::vector<float>> weights;
  std::vector<Format> formats;
  ProgramSpec spec;
  std::vector<std::int32_t> page_table;
  std::unique_ptr<Program> program;
};

// Every level of instructions that this processor has, and the references.
std::vector<CpuBackendOptions> AllOptions() {
  std::vector<CpuBackendOptions> all = {
      {.features = CpuFeatures::Detect(), .threads = 2, .kernel = "reference"}};
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

class BadInputs : public ::testing::Test {
 protected:
  BadInputs() : decoder_({.features = CpuFeatures::Detect()}) {
    EXPECT_TRUE(decoder_.Load().ok());
    tokens_ = {1, 2, 3, 4};
    positions_ = {0, 1, 2, 7};
    slots_ = {0, 0, 0, 1};
    logit_rows_ = {1, 3};
    page_table_ = decoder_.page_table;
  }
  Result<Event> Submit() {
    return decoder_.backend.Submit(*decoder_.program, {.tokens = tokens_,
                                                       .positions = positions_,
                                                       .slots = slots_,
                                                       .logit_rows = logit_rows_,
                                                       .page_table = page_table_});
  }
  void ExpectRefused(const char* message) {
    const auto event = Submit();
    ASSERT_FALSE(event.ok()) << message;
    EXPECT_EQ(event.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(event.error().message(), HasSubstr(message));
  }

  Decoder decoder_;
  std::vector<std::int32_t> tokens_, positions_, slots_, logit_rows_, page_table_;
};

TEST_F(BadInputs, GoodOnesPass) { EXPECT_TRUE(Submit().ok()); }

TEST_F(BadInputs, Sizes) {
  positions_.pop_back();
  ExpectRefused("4 tokens, but 3 positions");
  positions_.push_back(7);
  page_table_.pop_back();
  ExpectRefused("a page table of 14 entries instead of 3 slots of 5 pages");
  tokens_.resize(101);
  ExpectRefused("a step of 101 rows: the program takes 1 to 100");
  tokens_.clear();
  ExpectRefused("a step of 0 rows");
}

TEST_F(BadInputs, Rows) {
  for (std::int32_t token : {-1, 50}) {
    tokens_[2] = token;
    ExpectRefused("row 2: token");
  }
  tokens_[2] = 0;
  for (std::int32_t slot : {-1, 3}) {
    slots_[3] = slot;
    ExpectRefused("row 3: slot");
  }
  slots_[3] = 1;
  for (std::int32_t position : {-1, 300}) {
    positions_[3] = position;
    ExpectRefused("row 3: position");
  }
}

TEST_F(BadInputs, Sequences) {
  positions_[2] = 3;
  ExpectRefused("row 2: position 3 of slot 0 does not follow position 1");
  positions_[2] = 2;
  slots_ = {0, 1, 0, 1};
  ExpectRefused("row 2: the rows of slot 0 do not stand together");
  tokens_.assign(71, 0);
  slots_.assign(71, 0);
  positions_.clear();
  for (std::int32_t i = 0; i < 71; ++i) positions_.push_back(i);
  ExpectRefused("slot 0: 71 rows in one step, more than the 70 of a slice");
}

TEST_F(BadInputs, Pages) {
  positions_ = {62, 63, 64, 7};
  for (std::int32_t page : {-1, 15}) {
    page_table_[1] = page;
    ExpectRefused("slot 0: page 1 is physical page");
  }
  positions_ = {61, 62, 63, 7};
  EXPECT_TRUE(Submit().ok());
}

TEST_F(BadInputs, LogitRows) {
  for (const std::vector<std::int32_t>& rows :
       {std::vector<std::int32_t>{3, 1}, {1, 1}, {-1}, {4}}) {
    logit_rows_ = rows;
    ExpectRefused("logits of row");
  }
  logit_rows_.clear();
  EXPECT_TRUE(Submit().ok());
}

TEST(CpuBackend, RefusesSpecsThatCannotRun) {
  Decoder decoder({.features = CpuFeatures::Detect()});
  const auto refusal = [&](const ProgramSpec& spec) {
    const auto price = decoder.backend.Price(spec);
    EXPECT_FALSE(price.ok());
    EXPECT_FALSE(decoder.backend.MakeWeightStore(spec).ok());
    return price.ok() ? std::string() : price.error().message();
  };
  ProgramSpec spec = decoder.spec;
  spec.cache_settings.kv_dtype = DType::kI32;
  EXPECT_THAT(refusal(spec), HasSubstr("a KV cache of i32"));
  spec = decoder.spec;
  spec.limits.logit_rows = 101;
  EXPECT_THAT(refusal(spec), HasSubstr("logit rows"));
  spec = decoder.spec;
  spec.cache_settings.context_tokens = std::int64_t{1} << 31;
  EXPECT_THAT(refusal(spec), HasSubstr("is not possible"));
  spec = decoder.spec;
  spec.formats = spec.formats.subspan(1);
  EXPECT_THAT(refusal(spec), HasSubstr("but the formats of"));
  std::vector<Format> formats = decoder.formats;
  formats[0] = Format::Of(FormatKind::kQ4_1);  // rows of 24
  spec = decoder.spec;
  spec.formats = formats;
  EXPECT_THAT(refusal(spec), HasSubstr("weight `embed.weight`"));
}

TEST(CpuBackend, MissingAndMistakenWeightsAreNamed) {
  Decoder decoder({.features = CpuFeatures::Detect()});
  auto store = decoder.backend.MakeWeightStore(decoder.spec);
  ASSERT_TRUE(store.ok());
  const Status mistaken =
      (*store)->Store({0}, 0, {.format = Format::Of(FormatKind::kF16), .n = kVocab, .k = 24});
  ASSERT_FALSE(mistaken.ok());
  EXPECT_THAT(mistaken.error().message(), HasSubstr("weight `embed.weight` is f16"));
  EXPECT_FALSE((*store)->Store({1000}, 0, {}).ok());
  const auto program = decoder.backend.MakeProgram(decoder.spec, std::move(*store));
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(program.error().message(), HasSubstr("`embed.weight` was never stored"));

  store = decoder.backend.MakeWeightStore(decoder.spec);
  ASSERT_TRUE(store.ok());
  std::vector<Format> formats = decoder.formats;
  formats[0] = Format::Of(FormatKind::kF16);
  decoder.spec.formats = formats;
  const auto other = decoder.backend.MakeProgram(decoder.spec, std::move(*store));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message(), HasSubstr("stored for another program"));
  EXPECT_EQ(decoder.ledger.Total(), 0);
}

}  // namespace
}  // namespace tonnage
