#include <algorithm>
#include <iterator>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/panel.h"
#include "kernels/matmul/prompt.h"
#include "kernels/matmul/reference.h"
#include "kernels/matmul/run.h"
#include "kernels/matmul/tile.h"

namespace tonnage {
namespace {

bool Anything(const Format&, std::int64_t) { return true; }

bool AnyPanels(const Format& format, std::int64_t k) { return HasPanels(format, k); }

bool WholePanels(const Format& format, std::int64_t k) {
  return HasPanels(format, k) && HasWholeCodes(PanelKindOf(format));
}

// Where dot products of bf16 beat those of f32; whole codes have their own, which are faster still.
bool PlainPanels(const Format& format, std::int64_t) {
  return TraitsOf(PanelKindOf(format)).codes == Codes::kNone;
}

using Fits = bool(const Format& format, std::int64_t k);

template <Fits& kFits, bool CpuFeatures::*kNeeds>
bool Accepts(const Format& format, std::int64_t, std::int64_t k, const CpuFeatures& features) {
  return kFits(format, k) && features.*kNeeds;
}

template <Fits& kFits>
bool AcceptsAnywhere(const Format& format, std::int64_t, std::int64_t k, const CpuFeatures&) {
  return kFits(format, k);
}

void UnpackPanels(const PackedWeight& weight, std::int64_t row, float* out) {
  UnpackPanelRow(weight.format, weight.k, weight.data, row, out);
}

template <const TileVariant& kVariant>
Bytes Workspace(std::int64_t rows, std::int64_t k, std::int64_t experts) {
  return PanelWorkspaceBytes(kVariant, rows, k, experts);
}

template <const auto& kVariant>
void Run(const MatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool) {
  RunPanels(kVariant, args, workspace, pool);
}

template <const auto& kVariant>
void RunExperts(const ExpertMatmulArgs& args, std::span<std::uint8_t> workspace, ThreadPool& pool) {
  RunExpertPanels(kVariant, args, workspace, pool);
}

template <const PromptVariant& kVariant>
Bytes PromptWorkspace(std::int64_t rows, std::int64_t k, std::int64_t experts, int threads) {
  return PromptWorkspaceBytes(kVariant, rows, k, experts, threads);
}

#define PANEL_ROW(name, precision, accepts, variant)                               \
  {name,         precision,          accepts,      PanelBytes,         PackPanels, \
   UnpackPanels, Workspace<variant>, Run<variant>, RunExperts<variant>},
#define PORTABLE_KERNEL(name, precision, formats, variant) \
  PANEL_ROW(name, precision, AcceptsAnywhere<formats>, variant)
#define PROMPT_ROW(name, accepts, variant) \
  {name, accepts, PromptWorkspace<variant>, Run<variant>, RunExperts<variant>},
#define PORTABLE_PROMPT_KERNEL(name, formats, variant) \
  PROMPT_ROW(name, AcceptsAnywhere<formats>, variant)
#if defined(__x86_64__)
#define PANEL_KERNEL(name, precision, formats, needs, variant) \
  PANEL_ROW(name, precision, (Accepts<formats, &CpuFeatures::needs>), variant)
#define PROMPT_KERNEL(name, formats, needs, variant) \
  PROMPT_ROW(name, (Accepts<formats, &CpuFeatures::needs>), variant)
#else
#define PANEL_KERNEL(name, precision, formats, needs, variant)
#define PROMPT_KERNEL(name, formats, needs, variant)
#endif

constexpr MatmulKernel kKernels[] = {
#include "kernels/matmul/kernels.inc"
    {"reference", Precision::kExact, AcceptsAnywhere<Anything>, ReferencePackedBytes, ReferencePack,
     ReferenceUnpackRow, ReferenceWorkspaceBytes, ReferenceRun, ReferenceRunExperts},
};

constexpr PromptMatmulKernel kPromptKernels[] = {
#include "kernels/matmul/prompt_kernels.inc"
};
constexpr const PromptMatmulKernel& kSlowPromptKernel = *std::prev(std::end(kPromptKernels));

bool ForPrompts(std::string_view name) {
  return std::ranges::any_of(kPromptKernels,
                             [&](const auto& kernel) { return kernel.name == name; });
}

}  // namespace

std::span<const MatmulKernel> MatmulKernels() { return kKernels; }
std::span<const PromptMatmulKernel> PromptMatmulKernels() { return kPromptKernels; }

const MatmulKernel& SelectMatmul(const Format& format, std::int64_t n, std::int64_t k,
                                 Precision precision, const CpuFeatures& features,
                                 std::string_view forced) {
  const MatmulKernel& reference = *std::prev(std::end(kKernels));
  for (const MatmulKernel& kernel : kKernels) {
    const bool wanted = forced.empty() || kernel.name == forced || ForPrompts(forced);
    const bool precise = kernel.precision == Precision::kExact || precision == Precision::kFast;
    if (wanted && precise && kernel.accepts(format, n, k, features)) return kernel;
  }
  return reference;
}

const PromptMatmulKernel* SelectPromptMatmul(const MatmulKernel& kernel, const Format& format,
                                             std::int64_t n, std::int64_t k, Precision precision,
                                             const CpuFeatures& features, std::string_view forced) {
  // Only the reference stores a weight in another way.
  if (precision != Precision::kFast || kernel.pack != PackPanels) return nullptr;
  for (const PromptMatmulKernel& prompt : kPromptKernels) {
    const bool wanted = forced.empty() ? &prompt != &kSlowPromptKernel : prompt.name == forced;
    if (wanted && prompt.accepts(format, n, k, features)) return &prompt;
  }
  return nullptr;
}

}  // namespace tonnage
