#include "cli/runtime.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/cores.h"
#include "checkpoint/store.h"
#include "cli/progress.h"

namespace tonnage::cli {
namespace {

// Buffers are counted for devices whose drivers limit them; the host's only limit is bytes.
constexpr std::int64_t kHostBuffers = INT64_MAX;
// What a process holds differs by a few pages from run to run: in these steps it reads alike.
constexpr Bytes kProcessStep = 256 * kKiB;
// The backend's queue thread and the engine's stepping thread, beside those that compute.
constexpr int kModelThreads = 2;

Result<DType> ParseKvDType(const std::string& word) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (DTypeName(dtype) == word) return dtype;
  }
  return InvalidArgument("--kv {}: use f32, f16 or bf16", word);
}

Result<Precision> ParsePrecision(const std::string& word) {
  if (word == "exact") return Precision::kExact;
  if (word == "fast") return Precision::kFast;
  return InvalidArgument("--precision {}: use exact or fast", word);
}

}  // namespace

void ModelOptions::AddTo(CLI::App& app) {
  app.add_option("MODEL", model, "a name in the store, a folder, or a GGUF file")->required();
  AddLoadTo(app);
}

void ModelOptions::AddLoadTo(CLI::App& app) {
  app.add_option("--context", context_tokens,
                 "tokens of the longest conversation (default: the model's, at most 8192)")
      ->check(CLI::PositiveNumber);
  app.add_option("--slots", slots, "conversations at a time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--kv", kv_dtype, "the cache's numbers: f32, f16 or bf16")->capture_default_str();
  app.add_option("--precision", precision,
                 "exact: float32 activations; fast: 8-bit ones where weights are quantized")
      ->capture_default_str();
  app.add_option("--memory-limit", memory_limit,
                 "lower the memory that a load may take, such as 8G");
  app.add_option("--threads", threads, "threads that compute (default: one a usable core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--cpu", processor,
                 "use no more of the processor than: portable, avx2, avx512, vnni, amx");
  app.add_option("--kernel", kernel,
                 "use this kernel variant wherever a family has it, such as reference");
}

std::vector<std::string> ModelOptions::Arguments() const {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  if (context_tokens) add("--context", std::to_string(*context_tokens));
  add("--slots", std::to_string(slots));
  add("--kv", kv_dtype);
  add("--precision", precision);
  add("--memory-limit", memory_limit);
  if (threads > 0) add("--threads", std::to_string(threads));
  add("--cpu", processor);
  add("--kernel", kernel);
  return words;
}

Result<LoadSettings> ModelOptions::Settings() const {
  LoadSettings settings;
  settings.context_tokens = context_tokens;
  settings.queue = {.requests = 0, .tokens = 0};  // a command asks for one answer at a time
  settings.slots = slots;
  ASSIGN_OR_RETURN(settings.kv_dtype, ParseKvDType(kv_dtype));
  ASSIGN_OR_RETURN(settings.precision, ParsePrecision(precision));
  return settings;
}

Result<std::unique_ptr<Runtime>> Runtime::Open(const ModelOptions& options,
                                               const Environment& environment, Text text) {
  ASSIGN_OR_RETURN(const auto path, ModelStore(environment.home).Resolve(options.model));
  return OpenAt(path.string(), options, environment, text);
}

Result<std::unique_ptr<Runtime>> Runtime::OpenAt(std::string path, const ModelOptions& options,
                                                 const Environment& environment, Text text) {
  std::unique_ptr<Runtime> runtime(new Runtime());
  CpuFeatures features = CpuFeatures::Detect();
  if (!options.processor.empty()) {
    ASSIGN_OR_RETURN(features, features.LoweredTo(options.processor));
  }
  runtime->path_ = std::move(path);
  ASSIGN_OR_RETURN(OpenedModel opened, OpenModel(runtime->path_));
  runtime->model_ = std::make_unique<OpenedModel>(std::move(opened));
  if (text != Text::kNone) {
    Result<ModelText> opened_text = OpenModelText(runtime->path_);
    if (opened_text.ok()) {
      runtime->text_ = *std::move(opened_text);
    } else if (text == Text::kRequired) {
      return opened_text.error();
    }
  }
  runtime->threads_ = options.threads > 0 ? options.threads : UsableCores();
  RETURN_IF_ERROR(runtime->ResolveBudget(options, environment));
  const MemoryLimit& limit = runtime->limits_.front();
  runtime->available_ = {limit.bytes, limit.source};
  runtime->budget_ = std::make_unique<Budget>(limit.bytes, kHostBuffers, limit.source);
  runtime->allocator_ = std::make_unique<HostAllocator>(&runtime->ledger_, runtime->budget_.get());
  runtime->backend_ = std::make_unique<CpuBackend>(
      CpuBackendOptions{
          .features = features, .threads = runtime->threads_, .kernel = options.kernel},
      *runtime->allocator_, runtime->ledger_);
  return runtime;
}

Runtime::~Runtime() = default;

Status Runtime::ResolveBudget(const ModelOptions& options, const Environment& environment) {
  HostProcess process = ReadHostProcess();
  process.coming_threads = threads_ - 1 + kModelThreads;
  process.coming_file_bytes = model_->checkpoint.total_bytes();
  process_bytes_ = RoundUp(process.anonymous, kProcessStep);
  ASSIGN_OR_RETURN(limits_, ResolveHostBudget(ReadHostLimits(process),
                                              {{"--memory-limit", options.memory_limit},
                                               {"TONNAGE_MEMORY_LIMIT", environment.memory_limit},
                                               {options.share_source, options.share}}));
  return {};
}

LoadSettings Runtime::Complete(LoadSettings settings) const {
  settings.process_bytes += process_bytes_;
  return settings;
}

Result<Engine*> Runtime::Load(const LoadSettings& settings, const Environment& environment,
                              const LoadHooks& watch) {
  const LoadSettings complete = Complete(settings);
  ProgressLine progress("loading", environment.stderr_is_terminal);
  LoadHooks hooks;
  hooks.planned = [&](const LoadPlan& plan) {
    fmt::print(stderr, "[memory: {} quoted, {}]\n", FormatBytes(plan.quote.Total()),
               DescribeLimits(limits_));
    if (watch.planned) watch.planned(plan);
  };
  hooks.progress = [&](Bytes done, Bytes total, std::string_view weight) {
    progress.Show(done, total);
    if (watch.progress) watch.progress(done, total, weight);
  };
  ASSIGN_OR_RETURN(LoadedModel loaded,
                   LoadModel(*model_, *backend_, *allocator_, complete, available_, hooks));
  engine_ = std::make_unique<Engine>(std::move(loaded));
  return engine_.get();
}

}  // namespace tonnage::cli
