// y_i[m, n] = sum_k x[m, k] * w_i[n, k] (+ bias_i[n]), for one or several weight matrices that
// share x.
//
// Accumulates in f32 (int32 inside a quantization group). A row's result depends on that row alone:
// not on how many rows the call has, which of them it is, or how many threads run it, bit for bit.
// So any slicing of a prompt and any company in a batch give the same answer.
//
// A weight is packed once, at load, into the layout that its kernel reads in order; the layout is
// chosen by SelectMatmul from format, shape, precision and the processor's features, and serves
// every number of rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "quant/format.h"
#include "tensor/precision.h"

namespace tonnage {

// Where the blocks in which a matrix is packed may begin.
inline constexpr std::int64_t kPackRows = 128;

struct MatmulKernel;
struct PromptMatmulKernel;

// A packed weight: [experts, n, k] in `kernel`'s layout. Borrows its bytes.
struct PackedWeight {
  const MatmulKernel* kernel = nullptr;
  const PromptMatmulKernel* prompt_kernel = nullptr;  // for the rows of prompts, where there is one
  Format format;
  std::int64_t experts = 1;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const std::uint8_t* data =
      nullptr;  // [experts][kernel->packed_bytes(format, n, k)], 64-byte aligned
};

struct MatmulOutput {
  const PackedWeight* weight = nullptr;
  const float* bias = nullptr;  // [n] or null
  float* y = nullptr;           // [rows, n]
};

inline constexpr int kMaxMatmulOutputs = 8;

struct MatmulArgs {
  const float* x = nullptr;  // [rows, k]
  std::int64_t rows = 0;
  std::int64_t k = 0;
  // At most kMaxMatmulOutputs, all with the same k and the same kernel.
  std::span<const MatmulOutput> outputs;
};

struct ExpertOutput {
  const PackedWeight* weight = nullptr;
  float* y = nullptr;  // [rows, top_k, n]
};

inline constexpr int kMaxExpertOutputs = 2;  // gate and up

// Expert e's matrices applied to the rows that chose it: y_i[m, j, n] = sum_k x[m or (m, j), k] *
// w_i[ids[m, j], n, k].
struct ExpertMatmulArgs {
  const float* x = nullptr;  // [rows, k], or [rows, top_k, k] with input_per_expert
  bool input_per_expert = false;
  std::int64_t rows = 0;
  std::int64_t top_k = 0;
  const std::int32_t* ids = nullptr;  // [rows, top_k]; an id outside [0, experts) gives zeros
  // 1 to kMaxExpertOutputs, all with as many experts, the same k and the same kernel.
  std::span<const ExpertOutput> outputs;
};

// One row of the table in kernels.inc.
struct MatmulKernel {
  std::string_view name;
  Precision precision;  // an exact one serves fast calls too, where no fast one fits
  // Whether it can run this format and shape on a processor with these features.
  bool (*accepts)(const Format& format, std::int64_t n, std::int64_t k,
                  const CpuFeatures& features);
  // Bytes of one packed matrix.
  Bytes (*packed_bytes)(const Format& format, std::int64_t n, std::int64_t k);
  // Packs rows [first_row, first_row + rows.n) of a matrix of n rows into their place in out
  // [packed_bytes(format, n, k)]; in parallel over blocks of rows. `rows` is one matrix; its blocks
  // may come in any order, each beginning at a multiple of kPackRows.
  void (*pack)(const WeightView& rows, std::int64_t first_row, std::int64_t n, std::uint8_t* out,
               ThreadPool& pool);
  // Row `row` of expert 0 as numbers, out [k]: what embedding lookups in a tied table read.
  void (*unpack_row)(const PackedWeight& weight, std::int64_t row, float* out);
  // Scratch for a call with at most this many rows and this k, to be 64-byte aligned; for experts,
  // rows counts every (row, expert) pair.
  Bytes (*workspace_bytes)(std::int64_t rows, std::int64_t k, std::int64_t experts);
  void (*run)(const MatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool);
  void (*run_experts)(const ExpertMatmulArgs& args, std::span<std::uint8_t> workspace,
                      ThreadPool& pool);
};

// A kernel for the rows of prompts, which it multiplies with other roundings than a decode kernel
// does. It reads the layout of every MatmulKernel on panels. Which of the two a row takes is
// decided by what the row is, never by how many there are, so that a row's result still depends on
// that row alone.
struct PromptMatmulKernel {
  std::string_view name;
  bool (*accepts)(const Format& format, std::int64_t n, std::int64_t k,
                  const CpuFeatures& features);
  // For a pool of at most so many threads; otherwise as for a MatmulKernel.
  Bytes (*workspace_bytes)(std::int64_t rows, std::int64_t k, std::int64_t experts, int threads);
  void (*run)(const MatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool);
  void (*run_experts)(const ExpertMatmulArgs& args, std::span<std::uint8_t> workspace,
                      ThreadPool& pool);
};

// Every kernel, best first.
std::span<const MatmulKernel> MatmulKernels();
std::span<const PromptMatmulKernel> PromptMatmulKernels();

// The first kernel of the table that fits. The reference accepts everything, so there is always
// one. A non-empty `forced` names the only one to consider besides the reference, unless it names a
// kernel for prompts.
const MatmulKernel& SelectMatmul(const Format& format, std::int64_t n, std::int64_t k,
                                 Precision precision, const CpuFeatures& features,
                                 std::string_view forced = {});
// The kernel for the rows of prompts beside `kernel`, or null where that one is to take them too:
// with exact precision, where nothing faster fits, and where `forced` names another kernel.
const PromptMatmulKernel* SelectPromptMatmul(const MatmulKernel& kernel, const Format& format,
                                             std::int64_t n, std::int64_t k, Precision precision,
                                             const CpuFeatures& features,
                                             std::string_view forced = {});

}  // namespace tonnage
