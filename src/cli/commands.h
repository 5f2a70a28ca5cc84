// Every command's Define function; cmd_<name>.cc has it, main.cc lists it.
#pragma once

#include "cli/command.h"

namespace tonnage::cli {

void DefineVersion(CLI::App& app, const Environment& environment, Action& action);

}  // namespace tonnage::cli
