#include "cli/memory_watch.h"

#include <chrono>
#include <utility>

namespace tonnage::cli {
namespace {

constexpr std::chrono::milliseconds kPeriod(1000);

}  // namespace

// There is no cache that could yield yet.
MemoryWatch::MemoryWatch(Runtime& runtime, Engine& engine)
    : runtime_(runtime),
      watch_(runtime.budget(), [&runtime] { return runtime.ReadLimit(); },
             {.admissions = [&engine](std::optional<Error> why) {
               engine.RefuseNew(std::move(why));
             }}) {
  // Another device's memory is not the host's.
  if (runtime.backend().device().kind != DeviceKind::kCpu) return;
  ticker_.emplace(kPeriod, [this] { watch_.Sample(); });
}

MemoryReport MemoryWatch::Report() const {
  return ReportMemory(runtime_.ledger(), runtime_.budget(), nullptr, &watch_);
}

}  // namespace tonnage::cli
