#include <cstdio>

#include "base/cpu_features.h"
#include "cli/commands.h"

namespace tonnage::cli {

void DefineVersion(CLI::App& app, const Environment&, Action& action) {
  app.callback([&action] {
    action = [] {
      std::printf("tonnage %s (%s)\n", TONNAGE_VERSION, CpuFeatures::Detect().ToString().c_str());
      return Status();
    };
  });
}

}  // namespace tonnage::cli
