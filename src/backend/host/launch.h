// One entry of a program's launch list: a kernel with its operands resolved. Made once with the
// program; running it looks nothing up and allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "graph/graph.h"
#include "kernels/attention/attention.h"
#include "kernels/matmul/matmul.h"

namespace tonnage {

// How many rows this step has. Those that decode stand before those of prompts.
struct StepSize {
  std::int64_t rows = 0;
  std::int64_t logit_rows = 0;
  std::int64_t decode_rows = 0;
  std::int64_t decode_logit_rows = 0;
  std::int64_t RowsOf(Extent extent) const {
    return extent == Extent::kStepRows ? rows : logit_rows;
  }
  std::int64_t DecodeRowsOf(Extent extent) const {
    return extent == Extent::kStepRows ? decode_rows : decode_logit_rows;
  }
};

class Launch {
 public:
  virtual ~Launch() = default;
  virtual void Run(const StepSize& size, ThreadPool& pool) = 0;
};

// What a launch reads or writes: rows of row_bytes that follow each other. Two of them are touched
// alike, row by row, only if both fields are equal.
struct RowSpan {
  const std::uint8_t* data = nullptr;
  Bytes row_bytes = 0;
  Bytes bytes = 0;  // of all rows of the largest step
};

// Work on rows that needs nothing but those rows, so that several such launches can follow each
// other on a few rows at a time.
class RowLaunch {
 public:
  virtual ~RowLaunch() = default;
  virtual void RunRows(std::int64_t begin, std::int64_t end) const = 0;

  Extent extent = Extent::kStepRows;
  double row_cost = 0.0;  // elements of simple work in one row
  std::vector<RowSpan> reads;
  std::vector<RowSpan> writes;
};

// `Args` on rows by a plain function of a kernel's table.
template <typename Args>
class RowKernelLaunch final : public RowLaunch {
 public:
  using Function = void (*)(const Args& args, std::int64_t begin, std::int64_t end);
  RowKernelLaunch(const Args& args, Function function) : args_(args), function_(function) {}
  void RunRows(std::int64_t begin, std::int64_t end) const override {
    function_(args_, begin, end);
  }

 private:
  Args args_;
  Function function_;
};

// Row launches of one extent, run on the caller when there is little to do, else in parallel over
// blocks of rows.
class RowGroup final : public Launch {
 public:
  explicit RowGroup(std::unique_ptr<RowLaunch> first);
  // Whether `next` may run on some rows while earlier launches have yet to run on others: no place
  // that it writes is theirs, unless row by row.
  bool CanAppend(const RowLaunch& next) const;
  void Append(std::unique_ptr<RowLaunch> next);
  void Run(const StepSize& size, ThreadPool& pool) override;

 private:
  std::vector<std::unique_ptr<RowLaunch>> launches_;
  double row_cost_ = 0.0;
};

// Matrices that share an input and their kernels.
class LinearLaunch final : public Launch {
 public:
  LinearLaunch(Extent extent, const float* x, std::vector<MatmulOutput> outputs,
               std::span<std::uint8_t> scratch);
  void Run(const StepSize& size, ThreadPool& pool) override;

 private:
  Extent extent_;
  // Rows [first, first + rows) of the step.
  template <typename Kernel>
  void Multiply(const Kernel& kernel, std::int64_t first, std::int64_t rows, ThreadPool& pool);

  const float* x_;  // [rows, k]
  std::vector<MatmulOutput> outputs_;
  std::span<std::uint8_t> scratch_;
};

// Matrices of experts that share an input, a routing and their kernels.
class ExpertLinearLaunch final : public Launch {
 public:
  ExpertLinearLaunch(Extent extent, const ExpertMatmulArgs& args, std::vector<ExpertOutput> outputs,
                     std::span<std::uint8_t> scratch)
      : extent_(extent), args_(args), outputs_(std::move(outputs)), scratch_(scratch) {}
  void Run(const StepSize& size, ThreadPool& pool) override;

 private:
  template <typename Kernel>
  void Multiply(const Kernel& kernel, std::int64_t first, std::int64_t rows, ThreadPool& pool);

  Extent extent_;
  ExpertMatmulArgs args_;  // but for rows and outputs
  std::vector<ExpertOutput> outputs_;
  std::span<std::uint8_t> scratch_;
};

class AttentionLaunch final : public Launch {
 public:
  // Without `prompt_kernel`, `kernel` takes prompts too.
  AttentionLaunch(const AttentionArgs& args, const AttentionKernel& kernel,
                  const PromptAttentionKernel* prompt_kernel, std::span<std::uint8_t> scratch)
      : args_(args), kernel_(kernel), prompt_kernel_(prompt_kernel), scratch_(scratch) {}
  void Run(const StepSize& size, ThreadPool& pool) override;

 private:
  template <typename Kernel>
  void Attend(const Kernel& kernel, std::int64_t first, std::int64_t rows, ThreadPool& pool);

  AttentionArgs args_;
  const AttentionKernel& kernel_;
  const PromptAttentionKernel* prompt_kernel_;
  std::span<std::uint8_t> scratch_;
};

}  // namespace tonnage
