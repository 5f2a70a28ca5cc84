#include "convert/weight_stream.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

constexpr std::int64_t kTaskRows = 16;

// Where row (or element) `row` of halves stands among pairs.
std::int64_t PlaceAmongPairs(std::int64_t row, std::int64_t head_dim) {
  const std::int64_t in_head = row % head_dim, half = head_dim / 2;
  return row - in_head + 2 * (in_head % half) + in_head / half;
}

class Converter {
 public:
  Converter(const Conversion& conversion, ThreadPool& pool)
      : conversion_(conversion),
        pool_(pool),
        k_(conversion.source->shape[conversion.source->shape.rank() - 1]),
        out_row_(FormatRowBytes(conversion.format, k_).value()),
        numbers_(static_cast<size_t>(pool.threads())) {
    for (auto& row : numbers_) row.resize(static_cast<size_t>(2 * k_));
  }

  Status Run(const RowSink& sink) {
    std::vector<std::uint8_t> staging(static_cast<size_t>(conversion_.source->staging_bytes()));
    const bool unchanged =
        conversion_.source->format == conversion_.format && conversion_.turned_head_dim == 0;
    for (const WeightBlock& block : conversion_.source->Blocks()) {
      if (unchanged) {
        RETURN_IF_ERROR(sink(RowsOf(block, block.Read(staging))));
        block.Release();
        continue;
      }
      data_.resize(static_cast<size_t>(block.rows * out_row_.data));
      scales_.resize(static_cast<size_t>(block.rows * out_row_.scales));
      biases_.resize(static_cast<size_t>(block.rows * out_row_.biases));
      Read(block, staging);
      RETURN_IF_ERROR(sink({.first_row = block.first_row,
                            .rows = block.rows,
                            .data = data_,
                            .scales = scales_,
                            .biases = biases_}));
      block.Release();
    }
    return {};
  }

 private:
  // Rows that need no conversion, as they are read.
  ConvertedRows RowsOf(const WeightBlock& block, const WeightView& view) const {
    const auto part = [&](const std::uint8_t* data, Bytes row_bytes) {
      return row_bytes == 0 ? std::span<const std::uint8_t>()
                            : std::span(data, static_cast<size_t>(block.rows * row_bytes));
    };
    return {.first_row = block.first_row,
            .rows = block.rows,
            .data = part(view.data, out_row_.data),
            .scales = part(view.scales, out_row_.scales),
            .biases = part(view.biases, out_row_.biases)};
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
    PackRow(conversion_.format, row, data_.data() + to * out_row_.data,
            scales_.data() + to * out_row_.scales, biases_.data() + to * out_row_.biases,
            conversion_.options);
  }

  const Conversion& conversion_;
  ThreadPool& pool_;
  const std::int64_t k_;
  const RowBytes out_row_;
  std::vector<std::vector<float>> numbers_;  // by thread: a row, and room to turn it
  std::vector<std::uint8_t> data_, scales_, biases_;
};

}  // namespace

Status Convert(const Conversion& conversion, ThreadPool& pool, const RowSink& sink) {
  return Converter(conversion, pool).Run(sink);
}

}  // namespace tonnage
