// plan: what a load would take at each context, and whether it fits; nothing is loaded.
#include <fmt/color.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <span>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/hub_model.h"
#include "cli/plan.h"
#include "cli/runtime.h"

namespace tonnage::cli {
namespace {

constexpr Owner kTerms[] = {Owner::kWeights,     Owner::kKv,        Owner::kState,
                            Owner::kArena,       Owner::kWorkspace, Owner::kStaging,
                            Owner::kPrefixCache, Owner::kRuntime};

Json RowJson(const LoadPlan& plan) {
  Json row = {{"context_tokens", plan.settings.context_tokens},
              {"slots", plan.settings.slots},
              {"kv_dtype", DTypeName(plan.settings.kv_dtype)}};
  for (const Owner term : kTerms) {
    std::string key(OwnerName(term));
    for (char& c : key) c = c == ' ' ? '_' : c;
    row[key + "_bytes"] = plan.quote.Of(term);
  }
  row["total_bytes"] = plan.quote.Total();
  row["fits"] = !plan.refusal.has_value();
  if (plan.refusal) {
    row["tightest"] = OwnerName(plan.refusal->tightest);
    row["message"] = plan.refusal->Message();
  }
  return row;
}

std::string Mebibytes(Bytes bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(kMiB));
}

void PrintTable(const Runtime& runtime, std::span<const LoadPlan> plans, bool color) {
  const ModelInfo& info = runtime.model().model.info;
  fmt::print("{} · {} layers, trained for {} tokens · budget {} ({}) · MiB\n", info.architecture,
             info.layers, FormatThousands(info.context_limit),
             FormatBytes(runtime.available().bytes), runtime.available().source);
  fmt::print("{:>9}", "context");
  for (const Owner term : kTerms) fmt::print(" {:>12}", OwnerName(term));
  fmt::print(" {:>12}\n", "total");
  for (const LoadPlan& plan : plans) {
    fmt::print("{:>9}", FormatThousands(plan.settings.context_tokens));
    for (const Owner term : kTerms) fmt::print(" {:>12}", Mebibytes(plan.quote.Of(term)));
    fmt::print(" {:>12}", Mebibytes(plan.quote.Total()));
    const auto style =
        !color ? fmt::text_style()
               : fmt::fg(plan.refusal ? fmt::terminal_color::red : fmt::terminal_color::green);
    fmt::print(
        style, "  {}",
        plan.refusal ? "refused: " + std::string(OwnerName(plan.refusal->tightest)) : "fits");
    fmt::print("\n");
  }
}

}  // namespace

Status ShowPlans(Runtime& runtime, const ModelOptions& options, bool json,
                 const Environment& environment) {
  ASSIGN_OR_RETURN(const LoadSettings settings, options.Settings());
  std::vector<LoadPlan> plans;
  if (settings.context_tokens) {
    ASSIGN_OR_RETURN(LoadPlan plan,
                     PlanLoad(runtime.model(), runtime.backend(), settings, runtime.available()));
    plans.push_back(std::move(plan));
  } else {
    ASSIGN_OR_RETURN(plans,
                     PlanRungs(runtime.model(), runtime.backend(), settings, runtime.available()));
  }
  if (json) {
    Json rows = Json::array();
    for (const LoadPlan& plan : plans) rows.push_back(RowJson(plan));
    fmt::print("{}\n", DumpJson({{"model", options.model},
                                 {"budget_bytes", runtime.available().bytes},
                                 {"budget_source", runtime.available().source},
                                 {"plans", rows}}));
  } else {
    PrintTable(runtime, plans, environment.color);
  }
  const LoadPlan& first = plans.front();
  if (first.refusal) return Refused("{}", first.refusal->Message());
  return {};
}

void DefinePlan(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<ModelOptions>();
  auto json = std::make_shared<bool>(false);
  options->AddTo(app);
  app.add_flag("--json", *json, "one JSON object: the budget, and a row a context");
  app.footer(
      "Reads only the checkpoint's header, also of a model on a hub (org/name). Exits with 3 when "
      "not even the smallest context fits.");
  app.callback([&, options, json] {
    action = [&environment, options, json]() -> Status {
      ASSIGN_OR_RETURN(const auto runtime, OpenForPlan(*options, environment));
      return ShowPlans(*runtime, *options, *json, environment);
    };
  });
}

}  // namespace tonnage::cli
