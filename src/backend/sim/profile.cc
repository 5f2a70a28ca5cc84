#include "backend/sim/profile.h"

#include <string>

namespace tonnage {
namespace {

// Rates are nominal: makers' peak figures, which no real step reaches. Sources:
// - m1: Apple's M1 (2.6 TFLOPS, 68.25 GB/s) as hosted CI machines lend it, virtual and with 7.5 GB.
//   The copy rate is the slow end of what was reported there: 2.4 GB in one command buffer overran
//   the 5 s of Metal's watchdog in 2 of 140 starts. 499,000 is MLX's count of what a Metal device
//   may hold (iogpu.rsrc_limit), which its users run into.
// - m5-pro: 307 GB/s and 64 GB by Apple; of 64 GB, Metal recommends a working set of 48 GiB.
//   Arithmetic is an estimate: 20 cores, each with four times an M4's matrix rate.
// - cuda-24g: GeForce RTX 4090: 165 TFLOPS (f16 into f32), 1,008 GB/s, PCIe 4.0 x16, 24,564 MiB by
//   nvidia-smi; it also drives a display, so that Windows' TdrDelay of 2 s watches it.
// - cuda-96g: RTX PRO 6000 Blackwell: 504 TFLOPS (f16), 1,792 GB/s, PCIe 5.0 x16, 97,887 MiB.
// - h200: 989 TFLOPS (bf16), 4.8 TB/s, PCIe 5.0 x16. Measured on one: cuMemGetInfo has 143,155 MiB
//   in all, a context takes 527 MiB of them, and kernels have no time limit. cuMemAlloc takes steps
//   of 2 MiB there, which small buffers share; a page below is less.
// Other contexts, launches, fences and submissions cost what is usual for the drivers; estimates.
constexpr Bytes kMetalPage = 16 * kKiB;
constexpr Bytes kCudaPage = 64 * kKiB;
constexpr std::int64_t kMetalBuffers = 499'000;
constexpr std::int64_t kCudaBuffers = std::int64_t{1} << 31;  // limited by bytes alone

constexpr SimProfile kProfiles[] = {
    {.name = "m1",
     .description = "virtual Apple M1, 7.5 GB, watchdog of 5 s",
     .memory_bytes = 7'500'000'000,
     .page_bytes = kMetalPage,
     .buffers = kMetalBuffers,
     .context_bytes = 32 * kMiB,
     .watchdog_ms = 5000,
     .fence_ms = 0.5,
     .speed = {.operations_per_s = 2.6e12,
               .bytes_per_s = 68.25e9,
               .copy_bytes_per_s = 0.45e9,
               .launch_ms = 0.02,
               .submission_ms = 0.5},
     .submission = {.bytes = 2 * kGiB, .launches = 200, .ms = 1000}},
    {.name = "m5-pro",
     .description = "Apple M5 Pro, 64 GB, watchdog of 5 s",
     .memory_bytes = 48 * kGiB,
     .page_bytes = kMetalPage,
     .buffers = kMetalBuffers,
     .context_bytes = 32 * kMiB,
     .watchdog_ms = 5000,
     .fence_ms = 0.1,
     .speed = {.operations_per_s = 30e12,
               .bytes_per_s = 307e9,
               .copy_bytes_per_s = 6e9,
               .launch_ms = 0.005,
               .submission_ms = 0.1},
     .submission = {.bytes = 16 * kGiB, .launches = 400, .ms = 1000}},
    {.name = "cuda-24g",
     .description = "NVIDIA GeForce RTX 4090 with a display, 24 GB, watchdog of 2 s",
     .memory_bytes = 24'564 * kMiB,
     .page_bytes = kCudaPage,
     .buffers = kCudaBuffers,
     .context_bytes = 400 * kMiB,
     .watchdog_ms = 2000,
     .fence_ms = 0.02,
     .speed = {.operations_per_s = 165e12,
               .bytes_per_s = 1008e9,
               .copy_bytes_per_s = 25e9,
               .launch_ms = 0.003,
               .submission_ms = 0.01},
     .submission = {.bytes = 16 * kGiB, .launches = 2000, .ms = 200}},
    {.name = "cuda-96g",
     .description = "NVIDIA RTX PRO 6000 Blackwell, 96 GB",
     .memory_bytes = 97'887 * kMiB,
     .page_bytes = kCudaPage,
     .buffers = kCudaBuffers,
     .context_bytes = 500 * kMiB,
     .fence_ms = 0.02,
     .speed = {.operations_per_s = 504e12,
               .bytes_per_s = 1792e9,
               .copy_bytes_per_s = 50e9,
               .launch_ms = 0.003,
               .submission_ms = 0.01},
     .submission = {.bytes = 64 * kGiB, .launches = 4000, .ms = 1000}},
    {.name = "h200",
     .description = "NVIDIA H200, 141 GB",
     .memory_bytes = 143'155 * kMiB,
     .page_bytes = kCudaPage,
     .buffers = kCudaBuffers,
     .context_bytes = 527 * kMiB,
     .fence_ms = 0.02,
     .speed = {.operations_per_s = 989e12,
               .bytes_per_s = 4800e9,
               .copy_bytes_per_s = 50e9,
               .launch_ms = 0.003,
               .submission_ms = 0.01},
     .submission = {.bytes = 128 * kGiB, .launches = 4000, .ms = 1000}},
};

}  // namespace

std::span<const SimProfile> SimProfiles() { return kProfiles; }

Result<SimProfile> FindSimProfile(std::string_view name) {
  std::string known;
  for (const SimProfile& profile : kProfiles) {
    if (profile.name == name) return profile;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", profile.name, profile.description);
  }
  return InvalidArgument("no simulated device is called `{}`; there are: {}", name, known);
}

}  // namespace tonnage
