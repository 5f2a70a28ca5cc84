// list and rm: what is in the model store.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/store.h"
#include "cli/commands.h"

namespace tonnage::cli {
namespace {

// What a model is, as far as its header tells.
struct Facts {
  std::int64_t parameters = 0;
  std::string container;  // "GGUF" or "safetensors"
  std::string stored_as;  // the type of most of its bytes, in the file's own words
};

Result<Facts> ReadFacts(const std::string& path) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  Facts facts;
  facts.container = checkpoint.gguf() != nullptr ? "GGUF" : "safetensors";
  std::map<std::string, Bytes> bytes;
  for (const WeightInfo& weight : checkpoint.weights()) {
    std::int64_t elements = 1;
    for (int i = 0; i < weight.shape.rank(); ++i) elements *= weight.shape[i];
    facts.parameters += elements;
    bytes[weight.stored_as] += weight.bytes();
  }
  Bytes most = 0;
  for (const auto& [type, sum] : bytes) {
    if (sum <= most) continue;
    most = sum;
    facts.stored_as = type;
  }
  return facts;
}

std::string FormatParameters(std::int64_t count) {
  const auto number = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.1f}B", number / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.0f}M", number / 1e6);
  return fmt::format("{:.0f}K", number / 1e3);
}

Json RowJson(const StoredModel& model, const Result<Facts>& facts) {
  Json row = {{"name", model.name}, {"path", model.path.string()}, {"bytes", model.bytes}};
  if (facts.ok()) {
    row["parameters"] = facts->parameters;
    row["format"] = facts->container;
    row["stored_as"] = facts->stored_as;
  } else {
    row["error"] = facts.error().message();
  }
  return row;
}

Status List(const Environment& environment, bool json) {
  ASSIGN_OR_RETURN(const std::vector<StoredModel> models, ModelStore(environment.home).List());
  if (models.empty() && !json) {
    std::fprintf(stderr, "No models in %s yet. `tonnage pull smollm2` fetches a small one.\n",
                 environment.home.c_str());
  }
  size_t width = 0;
  for (const StoredModel& model : models) width = std::max(width, model.name.size());
  Json rows = Json::array();
  for (const StoredModel& model : models) {
    const Result<Facts> facts = ReadFacts(model.path.string());
    if (json) {
      rows.push_back(RowJson(model, facts));
      continue;
    }
    fmt::print("{:<{}}  {:>10}  {:>7}  {:<11}  {}\n", model.name, width, FormatBytes(model.bytes),
               facts.ok() ? FormatParameters(facts->parameters) : "",
               facts.ok() ? facts->container : "unreadable",
               facts.ok() ? facts->stored_as : facts.error().message());
  }
  if (json) fmt::print("{}\n", DumpJson(rows));
  return {};
}

}  // namespace

void DefineList(CLI::App& app, const Environment& environment, Action& action) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "one JSON array: name, path, bytes, parameters, format, stored_as");
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
