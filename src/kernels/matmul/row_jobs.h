// What all kernels on panels share before they multiply: the rows of a call become jobs (all rows
// of a dense call, or those that chose an expert), and the rows of a job are prepared in blocks,
// once a call. Nothing is allocated: experts' jobs lie in the call's workspace. One thread makes
// and prepares jobs; any may read them afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "base/bytes.h"
#include "base/thread_pool.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/panel.h"

namespace tonnage {

inline constexpr int kMaxBlockRows = 16;
inline constexpr std::int64_t kWholeRows = std::numeric_limits<std::int64_t>::max();

// How a kernel wants its activations: rows side by side in blocks of a power of two of them, from
// min_width to max_width; rows beyond the valid ones are zero.
struct RowBlocks {
  int min_width = 1;
  int max_width = 1;
  // Bytes of one row in a block; of several whole slices, the sum of theirs.
  Bytes (*row_bytes)(std::int64_t k);
  // x: [rows] pointers to [k], or to whole groups of it that follow those at `block` already.
  void (*prepare)(const float* const* x, int rows, int width, std::int64_t k, std::uint8_t* block);
  // Elements of k that lie together: so many of all blocks of a job, then the next so many, each
  // prepared as if it were a row.
  std::int64_t slice = kWholeRows;
};

// One matrix times the rows that it is for.
struct Job {
  const PackedWeight* weight = nullptr;
  PanelLayout layout;
  const std::uint8_t* data = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  std::int64_t first_row = 0;  // in sorted order
  std::int64_t rows = 0;
  std::int64_t first_prepared = 0;  // prepared rows before this job's, padding included
  std::int64_t first_block = 0;
  std::int64_t panels_per_task = 1;
  std::int64_t first_task = 0;
};

struct Call {
  const RowBlocks& blocks;
  const float* x = nullptr;
  std::int64_t k = 0;
  std::int64_t rows_per_x = 1;          // consecutive rows that read the same x
  const std::int32_t* order = nullptr;  // [rows] sorted -> row; null is the identity
  std::uint8_t* prepared = nullptr;
  std::span<Job> jobs;

  std::int64_t RowAt(std::int64_t sorted) const {
    return order == nullptr ? sorted : order[sorted];
  }
};

struct Block {
  std::int64_t first_row = 0;  // in sorted order
  int rows = 0;
  int width = 0;
  std::uint8_t* data = nullptr;  // from an element of k on, to the end of its slice
};

inline std::int64_t BlocksOf(const Job& job, const RowBlocks& blocks) {
  return CeilDiv(job.rows, blocks.max_width);
}
// From element `first` of k on, which begins a group.
Block BlockOf(const Call& call, const Job& job, std::int64_t index, std::int64_t first = 0);

// The job that item `index` belongs to, of items counted through all jobs; kFirst is the member
// that holds a job's first.
template <auto kFirst>
const Job& JobOf(std::span<const Job> jobs, std::int64_t index) {
  const auto after =
      std::upper_bound(jobs.begin(), jobs.end(), index,
                       [](std::int64_t i, const Job& job) { return i < job.*kFirst; });
  return *std::prev(after);
}

// Of a call's workspace, what the functions below take. `rows` counts (row, expert) pairs.
Bytes RowJobsBytes(const RowBlocks& blocks, std::int64_t rows, std::int64_t k,
                   std::int64_t experts);

// The jobs of a dense call, one an output, with their rows prepared. `storage` keeps the jobs.
Call PrepareDense(const RowBlocks& blocks, const MatmulArgs& args,
                  std::span<Job, kMaxMatmulOutputs> storage, std::span<std::uint8_t> workspace,
                  ThreadPool& pool);
// The jobs of the experts that were chosen, an output after the other, with their rows prepared.
// Pairs without an expert get their zeros here.
Call PrepareExperts(const RowBlocks& blocks, const ExpertMatmulArgs& args,
                    std::span<std::uint8_t> workspace, ThreadPool& pool);

}  // namespace tonnage
