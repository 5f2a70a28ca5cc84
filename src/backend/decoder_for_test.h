// What tests of backends stand on: a small decoder with every kind of cache, loaded and stepped on
// any of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "graph/rewrite.h"
#include "graph/test_graphs.h"

namespace tonnage {

inline constexpr std::int64_t kVocab = 50;
inline constexpr std::int64_t kContext = 300;
inline constexpr std::int64_t kSlots = 3;
inline constexpr std::int64_t kPages = 5;  // of a context

inline std::vector<std::vector<float>> RandomWeights(const Graph& graph) {
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

inline std::vector<std::int32_t> RandomTokens(int count, unsigned seed) {
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

// The decoder on a backend that outlives it.
struct DecoderModel {
  explicit DecoderModel(Backend& backend, DType kv_dtype = DType::kF32)
      : runner(backend),
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
    ASSIGN_OR_RETURN(auto store, runner.MakeWeightStore(spec));
    RETURN_IF_ERROR(Fill(*store));
    ASSIGN_OR_RETURN(program, runner.MakeProgram(spec, std::move(store)));
    return {};
  }
  Status Fill(WeightStore& store) const {
    for (size_t id = 0; id < graph.weights.size(); ++id) {
      const Shape& shape = graph.weights[id].shape;
      const int rank = shape.rank();
      RETURN_IF_ERROR(
          store.Store({static_cast<int>(id)}, 0,
                      {.format = formats[id],
                       .experts = rank == 3 ? shape[0] : 1,
                       .n = rank == 1 ? 1 : shape[rank - 2],
                       .k = shape[rank - 1],
                       .data = reinterpret_cast<const std::uint8_t*>(weights[id].data())}));
    }
    return {};
  }

  // The step's logits, one row a token.
  Result<std::vector<float>> TryStep(const std::vector<Slice>& slices,
                                     std::int64_t decode_rows = 0) {
    std::vector<std::int32_t> tokens, positions, slots, logit_rows;
    for (const Slice& slice : slices) {
      for (size_t i = 0; i < slice.tokens.size(); ++i) {
        logit_rows.push_back(static_cast<std::int32_t>(tokens.size()));
        tokens.push_back(slice.tokens[i]);
        positions.push_back(slice.first_position + static_cast<std::int32_t>(i));
        slots.push_back(slice.slot);
      }
    }
    ASSIGN_OR_RETURN(const Event event, runner.Submit(*program, {.tokens = tokens,
                                                                 .positions = positions,
                                                                 .slots = slots,
                                                                 .logit_rows = logit_rows,
                                                                 .decode_rows = decode_rows,
                                                                 .page_table = page_table}));
    RETURN_IF_ERROR(runner.Wait(event));
    const std::span<const float> logits = program->logits();
    return std::vector<float>(logits.begin(), logits.end());
  }
  std::vector<float> Step(const std::vector<Slice>& slices, std::int64_t decode_rows = 0) {
    auto logits = TryStep(slices, decode_rows);
    EXPECT_TRUE(logits.ok()) << logits.error().message();
    return logits.ok() ? *std::move(logits) : std::vector<float>();
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

  Backend& runner;
  Graph graph;
  CacheLayout cache;
  std::vector<std::vector<float>> weights;
  std::vector<Format> formats;
  ProgramSpec spec;
  std::vector<std::int32_t> page_table;
  std::unique_ptr<Program> program;
};

}  // namespace tonnage
