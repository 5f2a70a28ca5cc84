// Looks at the host's memory once a second while a model is served, and closes its engine to new
// requests while the host has not left what is promised (docs/memory.md). Owns a thread; runtime
// and engine outlive it.
#pragma once

#include <optional>

#include "base/ticker.h"
#include "cli/runtime.h"
#include "engine/engine.h"
#include "memory/pressure.h"
#include "memory/report.h"

namespace tonnage::cli {

class MemoryWatch {
 public:
  MemoryWatch(Runtime& runtime, Engine& engine);
  MemoryReport Report() const;

 private:
  Runtime& runtime_;
  PressureWatch watch_;
  std::optional<Ticker> ticker_;  // last: its thread uses the above
};

}  // namespace tonnage::cli
