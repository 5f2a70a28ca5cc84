#include "convert/weight_stream.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

constexpr std::int64_t kTaskRows = 16;
constexpr Bytes kAlignment = 64;

// Where row (or element) `row` of halves stands among pairs.
std::int64_t PlaceAmongPairs(std::int64_t row, std::int64_t head_dim) {
  const std::int64_t in_head = row % head_dim, half = head_dim / 2;
  return row - in_head + 2 * (in_head % half) + in_head / half;
}

class Converter {
 public:
  Converter(const Conversion& conversion, ThreadPool& pool, Allocator& memory)
      : conversion_(conversion),
        pool_(pool),
        memory_(memory),
        k_(conversion.source->shape[conversion.source->shape.rank() - 1]),
        out_row_(FormatRowBytes(conversion.format, k_).value()),
        numbers_(static_cast<size_t>(pool.threads())) {
    for (auto& row : numbers_) row.resize(static_cast<size_t>(2 * k_));
  }

  Status Run(const RowSink& sink) {
    ASSIGN_OR_RETURN(const Buffer staging_buffer,
                     memory_.Allocate(Owner::kStaging, conversion_.source->staging_bytes()));
    const std::span staging(staging_buffer.data(), static_cast<size_t>(staging_buffer.bytes()));
    const std::vector<WeightBlock> blocks = conversion_.source->Blocks();
    const bool unchanged =
        conversion_.source->format == conversion_.format && conversion_.turned_head_dim == 0;
    if (!unchanged) {
      RETURN_IF_ERROR(AllocateRows(blocks));
    }
    for (const WeightBlock& block : blocks) {
      if (unchanged) {
        const WeightView view = block.Read(staging);
        RETURN_IF_ERROR(sink(RowsOf(block, view.data, view.scales, view.biases)));
        block.Release();
        continue;
      }
      Read(block, staging);
      RETURN_IF_ERROR(sink(RowsOf(block, data_, scales_, biases_)));
      block.Release();
    }
    return {};
  }

 private:
  // Room for the largest block that comes out.
  Status AllocateRows(std::span<const WeightBlock> blocks) {
    std::int64_t rows = 0;
    for (const WeightBlock& block : blocks) rows = std::max(rows, block.rows);
    const Bytes scales_at = RoundUp(rows * out_row_.data, kAlignment);
    const Bytes biases_at = scales_at + RoundUp(rows * out_row_.scales, kAlignment);
    ASSIGN_OR_RETURN(rows_, memory_.Allocate(Owner::kStaging, biases_at + rows * out_row_.biases));
    data_ = rows_.data();
    scales_ = data_ + scales_at;
    biases_ = data_ + biases_at;
    return {};
  }

  ConvertedRows RowsOf(const WeightBlock& block, const std::uint8_t* data,
                       const std::uint8_t* scales, const std::uint8_t* biases) const {
    const auto part = [&](const std::uint8_t* begin, Bytes row_bytes) {
      return row_bytes == 0 ? std::span<const std::uint8_t>()
                            : std::span(begin, static_cast<size_t>(block.rows * row_bytes));
    };
    return {.first_row = block.first_row,
            .rows = block.rows,
            .data = part(data, out_row_.data),
            .scales = part(scales, out_row_.scales),
            .biases = part(biases, out_row_.biases)};
  }

  void Read(const WeightBlock& block, std::span<std::uint8_t> staging) {
    const bool turned = conversion_.turned_head_dim > 0 && block.tensor->shape.rank() > 1;
    // Turned rows may come from outside the block.
    const WeightView view = turned ? block.tensor->View() : block.Read(staging);
    pool_.Run(CeilDiv(block.rows, kTaskRows), [&](std::int64_t task, int thread) {
      const std::int64_t end = std::min(block.rows, (task + 1) * kTaskRows);
      for (std::int64_t row = task * kTaskRows; row < end; ++row) {
        const std::int64_t from =
            turned ? PlaceAmongPairs(block.tensor_row + row, conversion_.turned_head_dim) : row;
        ConvertRow(view, from, row, numbers_[static_cast<size_t>(thread)]);
      }
    });
  }

  void ConvertRow(const WeightView& view, std::int64_t from, std::int64_t to,
                  std::vector<float>& numbers) {
    std::span<float> row(numbers.data(), static_cast<size_t>(k_));
    UnpackRow(view, from, row);
    if (conversion_.turned_head_dim > 0 && conversion_.source->shape.rank() == 1) {
      const std::span<float> turned(numbers.data() + k_, static_cast<size_t>(k_));
      for (std::int64_t i = 0; i < k_; ++i) {
        turned[static_cast<size_t>(i)] =
            row[static_cast<size_t>(PlaceAmongPairs(i, conversion_.turned_head_dim))];
      }
      row = turned;
    }
    PackRow(conversion_.format, row, data_ + to * out_row_.data, scales_ + to * out_row_.scales,
            biases_ + to * out_row_.biases, conversion_.options);
  }

  const Conversion& conversion_;
  ThreadPool& pool_;
  Allocator& memory_;
  const std::int64_t k_;
  const RowBytes out_row_;
  std::vector<std::vector<float>> numbers_;  // by thread: a row, and room to turn it
  Buffer rows_;                              // a block that came out, in these parts
  std::uint8_t *data_ = nullptr, *scales_ = nullptr, *biases_ = nullptr;
};

}  // namespace

Status Convert(const Conversion& conversion, ThreadPool& pool, Allocator& memory,
               const RowSink& sink) {
  return Converter(conversion, pool, memory).Run(sink);
}

}  // namespace tonnage
