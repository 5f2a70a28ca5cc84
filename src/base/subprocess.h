// Runs another program and waits for it. Arguments go to it as they are: no shell reads them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tonnage {

// Runs argv[0], found on PATH, with its standard output sent to our standard error. Its exit
// status, or Unavailable when it cannot be started or dies of a signal.
Result<int> RunProgram(const std::vector<std::string>& argv);

}  // namespace tonnage
