// Everything that commands need around a model: the options they share, the budget, the device and
// its backend, the opened checkpoint and, once loaded, the engine. Owns all of it, and takes it
// down in the right order. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/quote.h"
#include "backend/backend.h"
#include "backend/sim/sim_backend.h"
#include "base/cpu_features.h"
#include "cli/command.h"
#include "engine/engine.h"
#include "engine/loader.h"
#include "memory/buffer.h"
#include "memory/host_memory.h"
#include "models/open.h"
#include "service/text.h"

namespace tonnage::cli {

struct ModelOptions {
  std::string model;           // as the user names it
  std::string device = "cpu";  // or "sim:" and a profile's name
  int threads = 0;             // 0: one a usable core
  std::string memory_limit;
  std::string buffer_limit;
  std::optional<std::int64_t> context_tokens;
  std::int64_t slots = 1;
  std::string kv_dtype;  // empty: the command's default
  std::string precision = "fast";
  bool pin = false;       // each thread stays on a core
  std::string processor;  // a lower level than this machine's
  std::string kernel;     // a kernel variant by name
  // Of what a server has for all its runners, what is left for this one; and whose that is.
  std::string share;
  std::string share_source;

  // Declares MODEL and the options of a load.
  void AddTo(CLI::App& app);
  // Only the options.
  void AddLoadTo(CLI::App& app);
  // The words of a command line that give these options, but for MODEL and the share.
  std::vector<std::string> Arguments() const;
  Result<LoadSettings> Settings() const;
  // For commands that compare with other implementations: where nothing else is asked for, exact
  // precision has an exact cache.
  Result<LoadSettings> ComparisonSettings() const;
};

class Runtime {
 public:
  enum class Text { kNone, kIfThere, kRequired };

  // Opens the model's header, and its tokenizer and template as asked, then resolves the budget. No
  // weight is read. A tokenizer that will be used must be here: what the process holds when it is
  // ready is where the quote's runtime begins.
  static Result<std::unique_ptr<Runtime>> Open(const ModelOptions& options,
                                               const Environment& environment,
                                               Text text = Text::kNone);
  // The same where the model's place is known already; `options.model` is only its name.
  static Result<std::unique_ptr<Runtime>> OpenAt(std::string path, const ModelOptions& options,
                                                 const Environment& environment,
                                                 Text text = Text::kNone);
  ~Runtime();

  const std::string& path() const { return path_; }
  const OpenedModel& model() const { return *model_; }
  // With Text::kRequired, once.
  ModelText TakeText() { return *std::move(text_); }
  const Available& available() const { return available_; }
  // `settings` with what this process takes beside the model.
  LoadSettings Complete(LoadSettings settings) const;
  Backend& backend() { return *backend_; }
  // Null on a real device.
  const SimBackend* sim_backend() const { return sim_backend_; }
  int threads() const { return threads_; }
  // Of this processor, those that may be used; none on a simulated device.
  const CpuFeatures& features() const { return features_; }
  Allocator& allocator() { return *allocator_; }
  const Ledger& ledger() const { return backend_->ledger(); }
  Budget& budget() { return *budget_; }
  // What this process may hold of the host's memory in all, with what others take of it by now.
  Result<MemoryLimit> ReadLimit() const;

  // Loads the model and starts its engine. Standard error is told the quote and how the budget came
  // about, and, when it is a terminal, the progress. So is whoever watches.
  Result<Engine*> Load(const LoadSettings& settings, const Environment& environment,
                       const LoadHooks& watch = {});

 private:
  Runtime() = default;
  Status UseCpu(const ModelOptions& options, const Environment& environment);
  Status UseSim(const ModelOptions& options, const Environment& environment);
  // What this machine allows, of what the process holds now, and what the user allows.
  Result<std::vector<MemoryLimit>> ReadHostBudget(const std::vector<UserLimit>& user);
  Result<std::vector<MemoryLimit>> WithFixedLimits(std::vector<MemoryLimit> shared) const;

  std::string path_;
  int threads_ = 1;
  CpuFeatures features_;
  std::optional<ModelText> text_;
  Bytes process_bytes_ = 0;
  std::vector<MemoryLimit> fixed_limits_;  // those that others cannot lower
  std::vector<MemoryLimit> limits_;        // all, the smallest first
  Available available_;
  Ledger ledger_;
  std::unique_ptr<Budget> host_budget_;
  Budget* budget_ = nullptr;              // the host's, or the simulated device's
  std::unique_ptr<Allocator> allocator_;  // the simulated device itself, where there is one
  std::unique_ptr<Backend> backend_;
  const SimBackend* sim_backend_ = nullptr;
  std::unique_ptr<OpenedModel> model_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace tonnage::cli
