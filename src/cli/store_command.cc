// list and rm: what is in the model store.
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "checkpoint/store.h"
#include "cli/commands.h"

namespace tonnage::cli {
namespace {

Status List(const Environment& environment, bool json) {
  ASSIGN_OR_RETURN(const std::vector<StoredModel> models, ModelStore(environment.home).List());
  if (json) {
    Json rows = Json::array();
    for (const StoredModel& model : models) {
      rows.push_back({{"name", model.name}, {"path", model.path.string()}, {"bytes", model.bytes}});
    }
    std::printf("%s\n", DumpJson(rows).c_str());
    return {};
  }
  if (models.empty()) {
    std::fprintf(stderr, "No models in %s yet. `tonnage pull smollm2` fetches a small one.\n",
                 environment.home.c_str());
  }
  for (const StoredModel& model : models) {
    std::printf("%-24s %10s  %s\n", model.name.c_str(), FormatBytes(model.bytes).c_str(),
                model.path.c_str());
  }
  return {};
}

}  // namespace

void DefineList(CLI::App& app, const Environment& environment, Action& action) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "one JSON array: name, path, bytes");
  app.callback([&, json] { action = [&environment, json] { return List(environment, *json); }; });
}

void DefineRm(CLI::App& app, const Environment& environment, Action& action) {
  auto name = std::make_shared<std::string>();
  app.add_option("NAME", *name, "a model in the store")->required();
  app.callback([&, name] {
    action = [&environment, name] { return ModelStore(environment.home).Remove(*name); };
  });
}

}  // namespace tonnage::cli
