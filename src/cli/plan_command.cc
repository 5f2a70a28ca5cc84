// plan: what a load would take at each context, and whether it fits; nothing is loaded.
#include <fmt/color.h>
#include <fmt/format.h>

#include <cmath>
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

// What the simulated device would be asked for, at the longest context that fits.
Result<SimForecast> ForecastOf(Runtime& runtime, LoadSettings settings,
                               std::span<const LoadPlan> plans) {
  settings.context_tokens = plans.front().settings.context_tokens;
  for (const LoadPlan& plan : plans) {
    if (!plan.refusal) settings.context_tokens = plan.settings.context_tokens;
  }
  SimForecast forecast;
  RETURN_IF_ERROR(WithProgramSpec(
      runtime.model(), runtime.backend(), settings, [&](const ProgramSpec& spec) -> Status {
        ASSIGN_OR_RETURN(forecast, runtime.sim_backend()->Forecast(spec));
        return {};
      }));
  return forecast;
}

double PerSecond(double count, double ms) { return ms > 0 ? count / ms * 1e3 : 0; }

double PromptTokensPerSecond(const SimForecast& forecast) {
  return PerSecond(static_cast<double>(forecast.prefill_rows), forecast.prefill_ms);
}

std::string WatchdogVerdict(const SimForecast& forecast) {
  if (std::isinf(forecast.watchdog_ms)) return "no watchdog";
  return fmt::format("watchdog {:g} ms: {}", forecast.watchdog_ms,
                     forecast.killed ? "would kill it" : "never kills it");
}

void PrintForecast(const SimForecast& forecast) {
  fmt::print(
      "{} submission{} a step, the longest {:.1f} ms; of loading at most {:.1f} ms · {}\n"
      "at nominal rates {:.1f} tokens/s, {:.0f} of a prompt\n",
      forecast.submissions, forecast.submissions == 1 ? "" : "s", forecast.longest.ms,
      forecast.longest_copy_ms, WatchdogVerdict(forecast), PerSecond(1, forecast.decode_ms),
      PromptTokensPerSecond(forecast));
}

Json ForecastJson(const SimForecast& forecast) {
  Json json{{"submissions", forecast.submissions},
            {"longest_ms", forecast.longest.ms},
            {"longest_load_ms", forecast.longest_copy_ms},
            {"watchdog_ms", nullptr},
            {"killed", forecast.killed},
            {"tokens_per_second", PerSecond(1, forecast.decode_ms)},
            {"prompt_tokens_per_second", PromptTokensPerSecond(forecast)}};
  if (!std::isinf(forecast.watchdog_ms)) json["watchdog_ms"] = forecast.watchdog_ms;
  return json;
}

// With a simulated device: whether work would be killed. Refused when it would be, or cannot be cut
// into submissions.
Status ShowForecast(Runtime& runtime, const LoadSettings& settings, std::span<const LoadPlan> plans,
                    Json* json) {
  if (runtime.sim_backend() == nullptr) return {};
  ASSIGN_OR_RETURN(const SimForecast forecast, ForecastOf(runtime, settings, plans));
  if (json != nullptr) {
    (*json)["forecast"] = ForecastJson(forecast);
  } else {
    PrintForecast(forecast);
  }
  if (forecast.killed) return Refused("{}", WatchdogVerdict(forecast));
  return {};
}

}  // namespace

Status ShowPlans(Runtime& runtime, const ModelOptions& options, bool json,
                 const Environment& environment) {
  ASSIGN_OR_RETURN(const LoadSettings asked, options.Settings());
  const LoadSettings settings = runtime.Complete(asked);
  const Available& available = runtime.available();
  ASSIGN_OR_RETURN(const auto plans,
                   PlanRungs(runtime.model(), runtime.backend(), settings, available));
  Status forecast;
  if (json) {
    Json object = PlanJson(options.model, available, plans);
    forecast = ShowForecast(runtime, settings, plans, &object);
    fmt::print("{}\n", DumpJson(object));
  } else {
    PrintTable(runtime, plans, environment.color);
    forecast = ShowForecast(runtime, settings, plans, nullptr);
  }
  const LoadPlan& first = plans.front();
  if (first.refusal) return Refused("{}", first.refusal->Message());
  return forecast;
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
