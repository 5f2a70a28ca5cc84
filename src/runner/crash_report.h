// What a runner that dies of a fault says last, on standard error: the signal, the stack of every
// thread, what it held of memory, and the step that it was at. The handlers do only what a signal
// handler may, and then let the signal end the process as ever. kStackSignal has the stacks
// written and the process go on. For one process, once.
#pragma once

#include <csignal>

#include "engine/engine.h"
#include "memory/ledger.h"

namespace tonnage {

inline constexpr int kStackSignal = SIGUSR1;

// From now on. Before there is an engine, `SetCrashFacts` has said nothing and neither does the
// report.
void InstallCrashHandlers();

// What the report is to tell of; each may be nullptr, and is there as long as it is set.
void SetCrashFacts(const Ledger* ledger, const StepMark* mark);

}  // namespace tonnage
