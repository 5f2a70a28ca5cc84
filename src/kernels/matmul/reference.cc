#include "kernels/matmul/reference.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "quant/unpack.h"

namespace tonnage {
namespace {

constexpr Bytes kLine = 64;

// Where the parts of one packed matrix begin.
struct Parts {
  Bytes scales = 0;
  Bytes biases = 0;
  Bytes total = 0;
};

Parts PartsOf(const RowBytes& row, std::int64_t n) {
  Parts parts;
  parts.scales = RoundUp(n * row.data, kLine);
  parts.biases = parts.scales + RoundUp(n * row.scales, kLine);
  parts.total = parts.biases + RoundUp(n * row.biases, kLine);
  return parts;
}

RowBytes RowBytesOf(const Format& format, std::int64_t k) {
  return FormatRowBytes(format, k).value();
}

WeightView ViewOf(const PackedWeight& weight, std::int64_t expert) {
  const Parts parts = PartsOf(RowBytesOf(weight.format, weight.k), weight.n);
  const std::uint8_t* data = weight.data + expert * parts.total;
  return {.format = weight.format,
          .n = weight.n,
          .k = weight.k,
          .data = data,
          .scales = data + parts.scales,
          .biases = data + parts.biases};
}

float Dot(const float* x, std::span<const float> w) {
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) sum += static_cast<double>(x[i]) * w[i];
  return static_cast<float>(sum);
}

std::span<float> RowScratch(std::span<std::uint8_t> workspace, std::int64_t k) {
  CHECK_GE(static_cast<Bytes>(workspace.size()), ReferenceWorkspaceBytes(1, k, 1));
  return {reinterpret_cast<float*>(workspace.data()), static_cast<std::size_t>(k)};
}

void RunExpertOutput(const ExpertMatmulArgs& args, const ExpertOutput& output,
                     std::span<std::uint8_t> workspace) {
  const PackedWeight& weight = *output.weight;
  const std::span<float> w = RowScratch(workspace, weight.k);
  const std::int64_t pairs = args.rows * args.top_k;
  std::fill_n(output.y, pairs * weight.n, 0.0f);
  for (std::int64_t e = 0; e < weight.experts; ++e) {
    const WeightView view = ViewOf(weight, e);
    for (std::int64_t n = 0; n < view.n; ++n) {
      UnpackRow(view, n, w);
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        if (args.ids[pair] != e) continue;
        const std::int64_t x_row = args.input_per_expert ? pair : pair / args.top_k;
        output.y[pair * view.n + n] = Dot(args.x + x_row * weight.k, w);
      }
    }
  }
}

}  // namespace

Bytes ReferencePackedBytes(const Format& format, std::int64_t n, std::int64_t k) {
  return PartsOf(RowBytesOf(format, k), n).total;
}

void ReferencePack(const WeightView& rows, std::int64_t first_row, std::int64_t n,
                   std::uint8_t* out, ThreadPool&) {
  const RowBytes row = RowBytesOf(rows.format, rows.k);
  const Parts parts = PartsOf(row, n);
  const auto copy = [&](const std::uint8_t* from, Bytes row_bytes, Bytes offset) {
    const Bytes bytes = rows.n * row_bytes;
    if (bytes > 0) {
      std::memcpy(out + offset + first_row * row_bytes, from, static_cast<std::size_t>(bytes));
    }
  };
  copy(rows.data, row.data, 0);
  copy(rows.scales, row.scales, parts.scales);
  copy(rows.biases, row.biases, parts.biases);
}

void ReferenceUnpackRow(const PackedWeight& weight, std::int64_t row, float* out) {
  UnpackRow(ViewOf(weight, 0), row, {out, static_cast<std::size_t>(weight.k)});
}

Bytes ReferenceWorkspaceBytes(std::int64_t, std::int64_t k, std::int64_t) {
  return k * static_cast<Bytes>(sizeof(float));
}

void ReferenceRun(const MatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool&) {
  const std::span<float> w = RowScratch(workspace, args.k);
  for (const MatmulOutput& output : args.outputs) {
    const WeightView view = ViewOf(*output.weight, 0);
    for (std::int64_t n = 0; n < view.n; ++n) {
      UnpackRow(view, n, w);
      const float bias = output.bias == nullptr ? 0.0f : output.bias[n];
      for (std::int64_t m = 0; m < args.rows; ++m) {
        output.y[m * view.n + n] = Dot(args.x + m * args.k, w) + bias;
      }
    }
  }
}

void ReferenceRunExperts(const ExpertMatmulArgs& args, std::span<std::uint8_t> workspace,
                         ThreadPool&) {
  for (const ExpertOutput& output : args.outputs) RunExpertOutput(args, output, workspace);
}

}  // namespace tonnage
