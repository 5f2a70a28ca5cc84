// pull: a model of the catalog or of a hub comes into the store. What it would take is told first.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "checkpoint/catalog.h"
#include "checkpoint/hub/pull.h"
#include "checkpoint/store.h"
#include "cli/commands.h"
#include "cli/hub_model.h"
#include "cli/interrupt.h"
#include "cli/plan.h"
#include "cli/progress.h"

namespace tonnage::cli {
namespace {

void SayReady(const std::string& name, const Environment& environment) {
  std::fprintf(stderr, "%s is ready in %s. Chat with it: tonnage run %s\n", name.c_str(),
               environment.home.c_str(), name.c_str());
}

bool SayIfPresent(const std::string& name, const ModelStore& store) {
  const auto present = store.Find(name);
  if (present.ok())
    std::fprintf(stderr, "%s is already here: %s\n", name.c_str(), present->c_str());
  return present.ok();
}

Status PullCatalogEntry(const CatalogEntry& entry, const Environment& environment) {
  const std::string name(entry.name);
  ModelStore store(environment.home);
  if (SayIfPresent(name, store)) return {};
  std::fprintf(stderr, "Fetching %s (%s, %s) ...\n", name.c_str(),
               std::string(entry.description).c_str(), FormatBytes(entry.bytes).c_str());
  RETURN_IF_ERROR(PullFromCatalog(entry, store));
  SayReady(name, environment);
  return {};
}

// The same table as `plan` shows. What would not run here is not fetched, unless `anyway`.
Status Weigh(const hub::HeaderFolder& headers, const ModelOptions& options, bool anyway,
             const Environment& environment) {
  const auto weigh = [&]() -> Status {
    ASSIGN_OR_RETURN(const auto runtime, OpenHeaders(headers, options, environment));
    return ShowPlans(*runtime, options, false, environment);
  };
  const Status status = weigh();
  std::fflush(stdout);
  if (status.ok()) return {};
  const std::string& message = status.error().message();
  if (!anyway)
    return Error(status.error().code(), message + ". Nothing was fetched; --anyway fetches it");
  std::fprintf(stderr, "tonnage: %s. Fetching it anyway.\n", message.c_str());
  return {};
}

Status PullFromHub(const hub::ModelName& name, const ModelOptions& options, bool anyway,
                   const Environment& environment) {
  ModelStore store(environment.home);
  const std::string stored = name.StoreName();
  if (SayIfPresent(stored, store)) return {};
  const InterruptFlag interrupt;
  hub::Hub hub(HubSettings(environment), interrupt.flag());
  ASSIGN_OR_RETURN(const hub::Repository repository, hub::Repository::Open(hub, name));
  std::fprintf(stderr, "%s\n", Describe(repository).c_str());
  {
    ASSIGN_OR_RETURN(const hub::HeaderFolder headers, FetchHeaders(repository, environment));
    RETURN_IF_ERROR(Weigh(headers, options, anyway, environment));
  }
  Status pulled;
  {
    ProgressLine progress("pulling", environment.stderr_is_terminal);
    pulled = hub::Pull(repository, store,
                       {.progress = [&](Bytes done, Bytes total) { progress.Show(done, total); }});
  }
  if (!pulled.ok() && pulled.error().code() == Code::kCancelled)
    return Cancelled("interrupted; the same command goes on from here");
  RETURN_IF_ERROR(pulled);
  SayReady(stored, environment);
  return {};
}

Status Pull(const ModelOptions& options, bool anyway, const Environment& environment) {
  RETURN_IF_ERROR(options.Settings());
  if (const CatalogEntry* entry = FindInCatalog(options.model))
    return PullCatalogEntry(*entry, environment);
  const auto name = hub::ModelName::Parse(options.model);
  if (name.ok()) return PullFromHub(*name, options, anyway, environment);
  if (options.model.find('/') != std::string::npos) return name.error();
  std::string known;
  for (const CatalogEntry& row : Catalog())
    known += fmt::format("\n  {:12} {}", row.name, row.description);
  return InvalidArgument(
      "no model `{}` to pull. `org/name` names one of a hub, and these are "
      "known by one word:{}",
      options.model, known);
}

}  // namespace

void DefinePull(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<ModelOptions>();
  auto anyway = std::make_shared<bool>(false);
  options->AddTo(app);
  app.add_flag("--anyway", *anyway, "fetch it even where the quote refuses it");
  app.footer(
      "MODEL is a word of the catalog, such as smollm2, or a model of a hub: org/name,\n"
      "org/name:FILE.gguf, org/name:Q4_K_M, each also with @REVISION before the colon.\n"
      "An interrupted pull goes on where it stopped. HF_ENDPOINT, HF_TOKEN, HF_HOME and\n"
      "HF_HUB_CACHE count as they do for Hugging Face's own client. Exits with 3 when the model\n"
      "would not fit in memory, or the download on the disk.");
  app.callback([&, options, anyway] {
    action = [&environment, options, anyway] { return Pull(*options, *anyway, environment); };
  });
}

}  // namespace tonnage::cli
