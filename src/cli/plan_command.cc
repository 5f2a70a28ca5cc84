// plan: what a load would take at each context, and whether it fits; nothing is loaded.
#include <fmt/color.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <span>

#include "cli/commands.h"
#include "cli/hub_model.h"
#include "cli/plan.h"
#include "cli/runtime.h"
#include "engine/plan_json.h"

namespace tonnage::cli {
namespace {

std::string Mebibytes(Bytes bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(kMiB));
}

std::string Verdict(const LoadPlan& plan) {
  if (!plan.refusal) return "fits";
  if (plan.refusal->TooManyBuffers())
    return fmt::format("refused: {} buffers", FormatThousands(plan.quote.buffers));
  std::string text = fmt::format("refused: {}", OwnerName(*plan.refusal->tightest));
  if (!plan.refusal->nearest.empty()) text += "; fits: " + plan.refusal->Alternatives();
  return text;
}

void PrintTable(const Runtime& runtime, std::span<const LoadPlan> plans, bool color) {
  const ModelInfo& info = runtime.model().model.info;
  fmt::print("{} · {} layers, trained for {} tokens · budget {} ({}) · MiB\n", info.architecture,
             info.layers, FormatThousands(info.context_limit),
             FormatBytes(runtime.available().bytes), runtime.available().source);
  fmt::print("{:>9}", "context");
  for (int term = 0; term < kOwnerCount; ++term) {
    fmt::print(" {:>12}", OwnerName(static_cast<Owner>(term)));
  }
  fmt::print(" {:>12}\n", "total");
  for (const LoadPlan& plan : plans) {
    fmt::print("{:>9}", FormatThousands(plan.settings.context_tokens));
    for (int term = 0; term < kOwnerCount; ++term) {
      fmt::print(" {:>12}", Mebibytes(plan.quote.Of(static_cast<Owner>(term))));
    }
    fmt::print(" {:>12}", Mebibytes(plan.quote.Total()));
    const auto style =
        !color ? fmt::text_style()
               : fmt::fg(plan.refusal ? fmt::terminal_color::red : fmt::terminal_color::green);
    fmt::print(style, "  {}", Verdict(plan));
    fmt::print("\n");
  }
}

}  // namespace

Status ShowPlans(Runtime& runtime, const ModelOptions& options, bool json,
                 const Environment& environment) {
  ASSIGN_OR_RETURN(const LoadSettings asked, options.Settings());
  const LoadSettings settings = runtime.Complete(asked);
  const Available& available = runtime.available();
  ASSIGN_OR_RETURN(const auto plans,
                   PlanRungs(runtime.model(), runtime.backend(), settings, available));
  if (json) {
    fmt::print("{}\n", DumpJson(PlanJson(options.model, available, plans)));
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
