// Where everything of a program lies in memory: a pure function of the spec, the kernels and the
// number of threads. Prices add up its sizes and allocations are made of them, so that they
// cannot differ.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/host/kernel_set.h"
#include "graph/buffer_plan.h"
#include "kernels/matmul/matmul.h"

namespace tonnage {

// A weight's place in its layer's buffer.
struct WeightPlace {
  const MatmulKernel* kernel = nullptr;               // null for a vector, which is kept as f32 [k]
  const PromptMatmulKernel* prompt_kernel = nullptr;  // null where `kernel` takes prompts too
  Format format;                                      // as it comes
  std::int64_t experts = 1;
  std::int64_t n = 1;
  std::int64_t k = 0;
  size_t buffer = 0;
  Bytes offset = 0;
  Bytes matrix_bytes = 0;  // of one expert, packed
  bool operator==(const WeightPlace&) const = default;
};

struct WeightPlan {
  std::vector<WeightPlace> places;  // by WeightId
  std::vector<Bytes> buffer_bytes;  // a buffer for each layer that has weights
  bool operator==(const WeightPlan&) const = default;
};
Result<WeightPlan> PlanWeights(const ProgramSpec& spec, const KernelSet& kernels);

// Offsets into the workspace. The inputs of a step lie there too.
struct WorkspacePlan {
  Bytes tokens = 0;      // i32 [rows]
  Bytes positions = 0;   // i32 [rows]
  Bytes slots = 0;       // i32 [rows]
  Bytes logit_rows = 0;  // i32 [logit rows]
  std::int64_t page_table_entries = 0;
  Bytes page_table = 0;            // i32 [slots, pages_per_slot]
  std::vector<Bytes> rope_tables;  // by rope_table_of's values: f32 [rows, 2, pairs]
  Bytes scratch = 0;               // what one launch at a time may use
  Bytes scratch_bytes = 0;
  Bytes total = 0;
};

struct HostPlan {
  WeightPlan weights;
  std::vector<Bytes> kv_offsets;  // by layer of the cache layout
  Bytes kv_bytes = 0;
  std::int64_t pages_per_slot = 0;  // of the page table; 0 when every layer has a window
  BufferPlan arena;
  std::vector<RopeAttrs> rope_tables;  // that differ in what a table holds
  std::vector<size_t> rope_table_of;   // by node; which table a rope node reads
  const PromptAttentionKernel* prompt_attention = nullptr;  // null: the kernel set's takes prompts
  WorkspacePlan workspace;

  // As `allocator` counts buffers; with the heap that plan, launch list and weights' places take.
  ProgramPrice Price(const Allocator& allocator) const;
};
Result<HostPlan> MakeHostPlan(const ProgramSpec& spec, const KernelSet& kernels, int threads);

// The shape that an attention node asks its kernel for.
AttentionShape AttentionShapeOf(const AttentionAttrs& attrs);

}  // namespace tonnage
