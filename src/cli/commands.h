// Every command's Define function; <name>_command.cc has it, tonnage_main.cc lists it.
#pragma once

#include "cli/command.h"

namespace tonnage::cli {

void DefineBench(CLI::App& app, const Environment& environment, Action& action);
void DefineDetokenize(CLI::App& app, const Environment& environment, Action& action);
void DefineEval(CLI::App& app, const Environment& environment, Action& action);
void DefineInspect(CLI::App& app, const Environment& environment, Action& action);
void DefineList(CLI::App& app, const Environment& environment, Action& action);
void DefineLogits(CLI::App& app, const Environment& environment, Action& action);
void DefinePlan(CLI::App& app, const Environment& environment, Action& action);
void DefinePull(CLI::App& app, const Environment& environment, Action& action);
void DefineQuantize(CLI::App& app, const Environment& environment, Action& action);
void DefineRender(CLI::App& app, const Environment& environment, Action& action);
void DefineRm(CLI::App& app, const Environment& environment, Action& action);
void DefineRun(CLI::App& app, const Environment& environment, Action& action);
void DefineRunner(CLI::App& app, const Environment& environment, Action& action);
void DefineServe(CLI::App& app, const Environment& environment, Action& action);
void DefineTokenize(CLI::App& app, const Environment& environment, Action& action);
void DefineVersion(CLI::App& app, const Environment& environment, Action& action);

}  // namespace tonnage::cli
