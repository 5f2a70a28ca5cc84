#include "cli/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "backend/cpu/cpu_backend.h"
#include "backend/submission_limits.h"
#include "base/cores.h"
#include "checkpoint/store.h"
#include "cli/progress.h"

namespace tonnage::cli {
namespace {

// What a process holds differs by a few pages from run to run: in these steps it reads alike.
constexpr Bytes kProcessStep = 256 * kKiB;
// The backend's queue thread and the engine's stepping thread, beside those that compute.
constexpr int kModelThreads = 2;
constexpr std::string_view kSimPrefix = "sim:";

Result<Precision> ParsePrecision(const std::string& word) {
  if (word == "exact") return Precision::kExact;
  if (word == "fast") return Precision::kFast;
  return InvalidArgument("--precision {}: use exact or fast", word);
}

std::vector<UserLimit> UserLimits(const ModelOptions& options, const Environment& environment) {
  return {{"--memory-limit", options.memory_limit},
          {"TONNAGE_MEMORY_LIMIT", environment.memory_limit},
          {options.share_source, options.share}};
}

std::vector<UserLimit> UserBufferLimits(const ModelOptions& options,
                                        const Environment& environment) {
  return {{"--buffer-limit", options.buffer_limit},
          {"TONNAGE_BUFFER_LIMIT", environment.buffer_limit}};
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
  app.add_option("--kv", kv_dtype, "the cache's numbers: f32, f16, bf16 or q8 (default: f16)");
  app.add_option("--precision", precision,
                 "exact: float32 activations; fast: 8-bit ones where weights are quantized")
      ->capture_default_str();
  app.add_option("--memory-limit", memory_limit,
                 "lower the memory that a load may take, such as 8G");
  app.add_option("--buffer-limit", buffer_limit, "lower how many buffers a load may hold");
  app.add_option("--device", device,
                 "cpu, or sim:<profile> to find out what would happen on a device like that")
      ->capture_default_str();
  app.add_option("--threads", threads, "threads that compute (default: one a usable core)")
      ->check(CLI::Range(1, 1024));
  app.add_flag(
      "--pin", pin,
      "keep each of these threads on a core of its own; for a machine that does nothing else");
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
  add("--buffer-limit", buffer_limit);
  add("--device", device);
  if (threads > 0) add("--threads", std::to_string(threads));
  if (pin) words.push_back("--pin");
  add("--cpu", processor);
  add("--kernel", kernel);
  return words;
}

Result<LoadSettings> ModelOptions::Settings() const {
  LoadSettings settings;
  settings.context_tokens = context_tokens;
  settings.queue = {.requests = 0, .tokens = 0};  // a command asks for one answer at a time
  settings.slots = slots;
  if (!kv_dtype.empty()) {
    ASSIGN_OR_RETURN(settings.kv_dtype, ParseKvType(kv_dtype));
  }
  ASSIGN_OR_RETURN(settings.precision, ParsePrecision(precision));
  return settings;
}

Result<LoadSettings> ModelOptions::ComparisonSettings() const {
  ASSIGN_OR_RETURN(LoadSettings settings, Settings());
  if (kv_dtype.empty() && settings.precision == Precision::kExact) settings.kv_dtype = DType::kF32;
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
  if (options.device == "cpu") {
    RETURN_IF_ERROR(runtime->UseCpu(options, environment));
  } else {
    RETURN_IF_ERROR(runtime->UseSim(options, environment));
  }
  return runtime;
}

Runtime::~Runtime() = default;

Result<std::vector<MemoryLimit>> Runtime::ReadHostBudget(const std::vector<UserLimit>& user) {
  HostProcess process = ReadHostProcess();
  process.coming_threads = threads_ - 1 + kModelThreads;
  process.coming_file_bytes = model_->checkpoint.total_bytes();
  process_bytes_ = RoundUp(process.anonymous, kProcessStep);
  fixed_limits_ = ReadAddressSpaceLimits(process);
  ASSIGN_OR_RETURN(const std::vector<MemoryLimit> user_limits, ParseUserLimits(user));
  fixed_limits_.insert(fixed_limits_.end(), user_limits.begin(), user_limits.end());
  return WithFixedLimits(ReadSharedLimits(process));
}

Result<std::vector<MemoryLimit>> Runtime::WithFixedLimits(std::vector<MemoryLimit> shared) const {
  shared.insert(shared.end(), fixed_limits_.begin(), fixed_limits_.end());
  return ResolveHostBudget(std::move(shared), {});
}

Result<MemoryLimit> Runtime::ReadLimit() const {
  ASSIGN_OR_RETURN(auto limits, WithFixedLimits(ReadSharedLimits(GlanceAtHostProcess())));
  return std::move(limits.front());
}

Status Runtime::UseCpu(const ModelOptions& options, const Environment& environment) {
  features_ = CpuFeatures::Detect();
  if (!options.processor.empty()) {
    ASSIGN_OR_RETURN(features_, features_.LoweredTo(options.processor));
  }
  threads_ = options.threads > 0 ? options.threads : UsableCores();
  ASSIGN_OR_RETURN(limits_, ReadHostBudget(UserLimits(options, environment)));
  ASSIGN_OR_RETURN(const BufferLimit buffers,
                   LowerBufferLimit(ReadHostBufferLimit(), UserBufferLimits(options, environment)));
  available_ = {limits_.front().bytes, limits_.front().source, buffers.buffers, buffers.source};
  host_budget_ = std::make_unique<Budget>(available_.bytes, available_.buffers, available_.source,
                                          available_.buffers_source);
  budget_ = host_budget_.get();
  allocator_ = std::make_unique<HostAllocator>(&ledger_, budget_);
  backend_ = std::make_unique<CpuBackend>(
      CpuBackendOptions{.features = features_,
                        .threads = threads_,
                        .kernel = options.kernel,
                        .processors = options.pin ? AllowedProcessors() : std::vector<int>()},
      *allocator_, ledger_);
  return {};
}

// What this process holds is none of the simulated device's memory.
Status Runtime::UseSim(const ModelOptions& options, const Environment& environment) {
  const std::string_view name = options.device;
  if (!name.starts_with(kSimPrefix)) {
    return InvalidArgument("--device {}: use cpu, or sim:<profile>", name);
  }
  if (options.threads > 0 || !options.processor.empty()) {
    return InvalidArgument("--threads and --cpu are of no use with --device {}", name);
  }
  auto profile = FindSimProfile(name.substr(kSimPrefix.size()));
  if (!profile.ok()) return profile.error().In("--device");
  ASSIGN_OR_RETURN(
      const SubmissionLimits submission,
      LowerSubmissionLimits(
          profile->submission,
          {.bytes = {"TONNAGE_SUBMISSION_BYTES", environment.submission_bytes},
           .launches = {"TONNAGE_SUBMISSION_LAUNCHES", environment.submission_launches},
           .ms = {"TONNAGE_SUBMISSION_MS", environment.submission_ms}}));
  ASSIGN_OR_RETURN(limits_, ResolveHostBudget({{profile->memory_bytes, options.device}},
                                              UserLimits(options, environment)));
  ASSIGN_OR_RETURN(
      const BufferLimit buffers,
      LowerBufferLimit({profile->buffers, options.device}, UserBufferLimits(options, environment)));
  profile->buffers = buffers.buffers;
  available_ = {limits_.front().bytes, limits_.front().source, buffers.buffers, buffers.source};
  auto device = std::make_unique<SimDevice>(SimDeviceOptions{
      .profile = *profile, .limit_bytes = available_.bytes, .limit_source = available_.source});
  auto backend = std::make_unique<SimBackend>(
      *device, SimBackendOptions{.limits = submission, .kernel = options.kernel});
  budget_ = &device->budget();
  sim_backend_ = backend.get();
  allocator_ = std::move(device);
  backend_ = std::move(backend);
  return {};
}

LoadSettings Runtime::Complete(LoadSettings settings) const {
  settings.process_bytes += process_bytes_;
  return settings;
}

Result<Engine*> Runtime::Load(const LoadSettings& settings, const Environment& environment,
                              const LoadHooks& watch) {
  using SteadyClock = std::chrono::steady_clock;
  const LoadSettings complete = Complete(settings);
  std::optional<ProgressLine> progress(std::in_place, "loading", environment.stderr_is_terminal);
  const SteadyClock::time_point begin = SteadyClock::now();
  std::chrono::duration<double> seconds{};
  Bytes bytes = 0;
  LoadHooks hooks;
  hooks.planned = [&](const LoadPlan& plan) {
    fmt::print(stderr, "[memory: {} quoted, {}]\n", FormatBytes(plan.quote.Total()),
               DescribeLimits(limits_));
    if (watch.planned) watch.planned(plan);
  };
  hooks.progress = [&](Bytes done, Bytes total, std::string_view weight) {
    progress->Show(done, total);
    seconds = SteadyClock::now() - begin;
    bytes = done;
    if (watch.progress) watch.progress(done, total, weight);
  };
  Available available = available_;
  if (sim_backend_ != nullptr) {  // this machine's memory stands for the device's
    ASSIGN_OR_RETURN(const auto host, ReadHostBudget({}));
    const Bytes left = host.front().bytes - std::exchange(process_bytes_, 0);
    if (left < available.bytes) {
      available.bytes = left;
      available.source = host.front().source + " on this machine";
    }
  }
  ASSIGN_OR_RETURN(LoadedModel loaded,
                   LoadModel(*model_, *backend_, *allocator_, complete, available, hooks));
  progress.reset();
  fmt::print(stderr, "[loaded: {} in {:.3f} s, {}/s]\n", FormatBytes(bytes), seconds.count(),
             FormatBytes(
                 static_cast<Bytes>(static_cast<double>(bytes) / std::max(1e-6, seconds.count()))));
  engine_ = std::make_unique<Engine>(std::move(loaded));
  return engine_.get();
}

}  // namespace tonnage::cli
