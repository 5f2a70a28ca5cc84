#include "cli/hub_model.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "checkpoint/hub/name.h"
#include "checkpoint/store.h"
#include "cli/interrupt.h"

namespace tonnage::cli {

hub::Settings HubSettings(const Environment& environment) {
  hub::Settings settings = environment.hub;
  if (settings.token.empty()) std::ifstream(environment.hub_token_file) >> settings.token;
  return settings;
}

std::string Describe(const hub::Repository& repository) {
  const size_t count = repository.files().size();
  return fmt::format("{} at {}{}: {} file{}, {}", repository.name().StoreName(),
                     repository.commit().substr(0, 7),
                     repository.offline() ? ", as the cache has it" : "", count,
                     count == 1 ? "" : "s", FormatBytes(repository.bytes()));
}

Result<hub::HeaderFolder> FetchHeaders(const hub::Repository& repository,
                                       const Environment& environment) {
  return hub::HeaderFolder::Fetch(repository, std::filesystem::path(environment.home) / "partial");
}

Result<std::unique_ptr<Runtime>> OpenHeaders(const hub::HeaderFolder& headers,
                                             const ModelOptions& options,
                                             const Environment& environment) {
  const std::string path = headers.model().string();
  auto runtime = Runtime::OpenAt(path, options, environment, Runtime::Text::kIfThere);
  if (runtime.ok()) return runtime;
  // The headers' folder means nothing to anybody: the model's name stands for it.
  std::string message = runtime.error().message();
  for (size_t at = message.find(path); at != std::string::npos; at = message.find(path))
    message.replace(at, path.size(), options.model);
  return Error(runtime.error().code(), std::move(message));
}

Result<std::unique_ptr<Runtime>> OpenForPlan(const ModelOptions& options,
                                             const Environment& environment) {
  const ModelStore store(environment.home);
  const auto local = store.Resolve(options.model);
  if (local.ok())
    return Runtime::OpenAt(local->string(), options, environment, Runtime::Text::kIfThere);
  const auto name = hub::ModelName::Parse(options.model);
  const bool file = options.model.ends_with(".gguf") && name.ok() && name->file.empty();
  if (!name.ok() || file) return local.error();
  if (const auto stored = store.Find(name->StoreName()); stored.ok())
    return Runtime::OpenAt(stored->string(), options, environment, Runtime::Text::kIfThere);
  const InterruptFlag interrupt;
  hub::Hub hub(HubSettings(environment), interrupt.flag());
  Result<hub::Repository> repository = hub::Repository::Open(hub, *name);
  if (!repository.ok())
    return repository.error().In(fmt::format("{} is neither here nor in the store", options.model));
  std::fprintf(stderr, "%s\n", Describe(*repository).c_str());
  // Once the model is open its files are mapped, and the folder may go.
  ASSIGN_OR_RETURN(const hub::HeaderFolder headers, FetchHeaders(*repository, environment));
  return OpenHeaders(headers, options, environment);
}

}  // namespace tonnage::cli
