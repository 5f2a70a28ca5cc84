#include "base/check.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/panel.h"
#include "kernels/matmul/reference.h"
#include "kernels/matmul/run.h"
#include "kernels/matmul/tile.h"

namespace tonnage {
namespace {

bool IsAny(const Format&) { return true; }

bool HasAny(const Format& format) { return HasPanels(format); }

bool HasQuantized(const Format& format) {
  return HasPanels(format) && format.kind != FormatKind::kF32 && format.kind != FormatKind::kF16 &&
         format.kind != FormatKind::kBF16;
}

template <bool (*kFormats)(const Format&), bool CpuFeatures::*kNeeds>
bool Accepts(const Format& format, std::int64_t, std::int64_t, const CpuFeatures& features) {
  return kFormats(format) && features.*kNeeds;
}

template <bool (*kFormats)(const Format&)>
bool AcceptsAnywhere(const Format& format, std::int64_t, std::int64_t, const CpuFeatures&) {
  return kFormats(format);
}

void UnpackPanels(const PackedWeight& weight, std::int64_t row, float* out) {
  UnpackPanelRow(weight.format, weight.k, weight.data, row, out);
}

template <const TileVariant& kVariant>
Bytes Workspace(std::int64_t rows, std::int64_t k, std::int64_t experts) {
  return PanelWorkspaceBytes(kVariant, rows, k, experts);
}

template <const TileVariant& kVariant>
void Run(const MatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool) {
  RunPanels(kVariant, args, workspace, pool);
}

template <const TileVariant& kVariant>
void RunExperts(const ExpertMatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool) {
  RunExpertPanels(kVariant, args, workspace, pool);
}

#define PANEL_ROW(name, precision, accepts, variant)                               \
  {name,         precision,          accepts,      PanelBytes,         PackPanels, \
   UnpackPanels, Workspace<variant>, Run<variant>, RunExperts<variant>},
#define PORTABLE_KERNEL(name, precision, formats, variant) \
  PANEL_ROW(name, precision, AcceptsAnywhere<formats>, variant)
#if defined(__x86_64__)
#define PANEL_KERNEL(name, precision, formats, needs, variant) \
  PANEL_ROW(name, precision, (Accepts<formats, &CpuFeatures::needs>), variant)
#else
#define PANEL_KERNEL(name, precision, formats, needs, variant)
#endif

constexpr MatmulKernel kKernels[] = {
#include "kernels/matmul/kernels.inc"
    {"reference", Precision::kExact, AcceptsAnywhere<IsAny>, ReferencePackedBytes, ReferencePack,
     ReferenceUnpackRow, ReferenceWorkspaceBytes, ReferenceRun, ReferenceRunExperts},
};

}  // namespace

std::span<const MatmulKernel> MatmulKernels() { return kKernels; }

const MatmulKernel& SelectMatmul(const Format& format, std::int64_t n, std::int64_t k,
                                 Precision precision, const CpuFeatures& features,
                                 std::string_view forced) {
  const MatmulKernel& reference = *std::prev(std::end(kKernels));
  for (const MatmulKernel& kernel : kKernels) {
    const bool wanted = forced.empty() || kernel.name == forced;
    const bool precise = kernel.precision == Precision::kExact || precision == Precision::kFast;
    if (wanted && precise && kernel.accepts(format, n, k, features)) return kernel;
  }
  return reference;
}

}  // namespace tonnage
