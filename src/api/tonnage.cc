#include "tonnage/tonnage.h"

#include <atomic>
#include <cstdint>
#include <exception>

#include "backend/cpu/cpu_backend.h"
#include "base/cores.h"
#include "base/exhaustion.h"
#include "checkpoint/store.h"
#include "engine/loader.h"
#include "memory/host_memory.h"
#include "memory/report.h"
#include "service/generate.h"

namespace tonnage {
inline namespace v1 {
namespace {

// The order of FailureCode is that of Code.
static_assert(static_cast<int>(FailureCode::kInternal) == static_cast<int>(Code::kInternal));
static_assert(static_cast<int>(FailureCode::kRefused) == static_cast<int>(Code::kRefused));

Failure ToFailure(const Error& error) {
  return {static_cast<FailureCode>(error.code()), error.message()};
}

LoadSettings ToSettings(const ModelOptions& options) {
  return {.context_tokens = options.context_tokens,
          .slots = options.slots,
          .precision = options.exact ? Precision::kExact : Precision::kFast};
}

PlanRow ToRow(const LoadPlan& plan, const Available& available) {
  return {.context_tokens = plan.settings.context_tokens,
          .weights = plan.quote.weights,
          .kv = plan.quote.kv,
          .arena = plan.quote.arena,
          .workspace = plan.quote.workspace,
          .staging = plan.quote.staging,
          .runtime = plan.quote.runtime,
          .total = plan.quote.Total(),
          .available = available.bytes,
          .buffers = plan.quote.buffers,
          .available_buffers = available.buffers,
          .refusal = plan.refusal ? plan.refusal->Message() : ""};
}

// The host as a device, and the model's header on it. Members end in the reverse of this order.
struct Host {
  Host(const MemoryLimit& limit, const BufferLimit& buffers, const CpuBackendOptions& options)
      : available{limit.bytes, limit.source, buffers.buffers, buffers.source},
        budget(limit.bytes, buffers.buffers, limit.source, buffers.source),
        allocator(&ledger, &budget),
        backend(options, allocator, ledger) {}

  Available available;
  Ledger ledger;
  Budget budget;
  HostAllocator allocator;
  CpuBackend backend;
};

struct Opened {
  std::string path;
  OpenedModel model;
  std::unique_ptr<Host> host;
};

Result<Opened> Open(const std::string& model, const ModelOptions& options) {
  if (options.threads < 0 || options.threads > 1024) {
    return InvalidArgument("threads is {}, but must be from 0 to 1024", options.threads);
  }
  std::string path = model;
  if (!options.store.empty()) {
    ASSIGN_OR_RETURN(const auto found, ModelStore(options.store).Resolve(model));
    path = found.string();
  }
  ASSIGN_OR_RETURN(OpenedModel opened, OpenModel(path));
  const CpuBackendOptions backend{.features = CpuFeatures::Detect(),
                                  .threads = options.threads > 0 ? options.threads : UsableCores()};
  // What the caller's process holds is the caller's: only what the model adds counts.
  HostProcess process = ReadHostProcess();
  process.anonymous = 0;
  process.coming_threads = backend.threads + 1;
  process.coming_file_bytes = opened.checkpoint.total_bytes();
  ASSIGN_OR_RETURN(const auto limits, ResolveHostBudget(ReadHostLimits(process),
                                                        {{"memory_limit", options.memory_limit}}));
  ASSIGN_OR_RETURN(
      const BufferLimit buffers,
      LowerBufferLimit(ReadHostBufferLimit(), {{"buffer_limit", options.buffer_limit}}));
  return Opened{std::move(path), std::move(opened),
                std::make_unique<Host>(limits.front(), buffers, backend)};
}

Result<std::vector<PlanRow>> PlanRows(const std::string& model, const ModelOptions& options) {
  ASSIGN_OR_RETURN(const Opened opened, Open(model, options));
  const Host& host = *opened.host;
  ASSIGN_OR_RETURN(const auto plans,
                   PlanRungs(opened.model, host.backend, ToSettings(options), host.available));
  std::vector<PlanRow> rows;
  for (const LoadPlan& plan : plans) rows.push_back(ToRow(plan, host.available));
  return rows;
}

TextRequest ToRequest(const AnswerOptions& options) {
  return {.sampling = {.temperature = options.temperature,
                       .top_k = options.top_k,
                       .top_p = options.top_p,
                       .min_p = options.min_p,
                       .repetition_penalty = options.repetition_penalty,
                       .seed = options.seed},
          .max_tokens = options.max_tokens,
          .stop = options.stop};
}

Result<Answer> Run(const TextEngine& engine, const TextRequest& request,
                   const TextCallback& on_text) {
  ASSIGN_OR_RETURN(TextGeneration generation, engine.Start(request));
  Answer answer;
  while (auto event = generation.Next()) {
    if (const auto* delta = std::get_if<TextDelta>(&*event)) {
      answer.text += delta->text;
      if (on_text && !on_text(delta->text)) generation.Cancel();
      continue;
    }
    const auto& done = std::get<TextDone>(*event);
    if (done.error) return *done.error;
    answer.finish_reason = FinishReasonName(done.reason);
    answer.prompt_tokens = done.usage.prompt_tokens;
    answer.generated_tokens = done.usage.generated_tokens;
    answer.prompt_tokens_per_second = PrefillTokensPerSecond(done.usage);
    answer.generated_tokens_per_second = DecodeTokensPerSecond(done.usage);
  }
  return answer;
}

template <typename T>
Expected<T> ToExpected(Result<T> result) {
  if (!result.ok()) return ToFailure(result.error());
  return std::move(result).value();
}

}  // namespace

struct LanguageModel::Impl {
  static Result<std::unique_ptr<Impl>> Make(const std::string& model, const ModelOptions& options);

  std::unique_ptr<Host> host;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<TextEngine> text;
};

Result<std::unique_ptr<LanguageModel::Impl>> LanguageModel::Impl::Make(
    const std::string& model, const ModelOptions& options) {
  ASSIGN_OR_RETURN(Opened opened, Open(model, options));
  ASSIGN_OR_RETURN(ModelText text, OpenModelText(opened.path));
  std::atomic<bool> cancelled{false};
  LoadHooks hooks{.cancelled = &cancelled};
  if (options.on_progress) {
    hooks.progress = [&](Bytes done, Bytes total, std::string_view) {
      if (!options.on_progress(done, total)) cancelled = true;
    };
  }
  auto impl = std::make_unique<Impl>();
  impl->host = std::move(opened.host);
  ASSIGN_OR_RETURN(LoadedModel loaded,
                   LoadModel(opened.model, impl->host->backend, impl->host->allocator,
                             ToSettings(options), impl->host->available, hooks));
  impl->engine = std::make_unique<Engine>(std::move(loaded));
  ASSIGN_OR_RETURN(impl->text, TextEngine::Make(*impl->engine, std::move(text)));
  return impl;
}

LanguageModel::LanguageModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;
LanguageModel::~LanguageModel() = default;

Expected<LanguageModel> LanguageModel::Load(const std::string& model, const ModelOptions& options) {
  auto impl = OrExhausted([&] { return Impl::Make(model, options); });
  if (!impl.ok()) return ToFailure(impl.error());
  return LanguageModel(std::move(*impl));
}

Expected<std::vector<PlanRow>> LanguageModel::Plan(const std::string& model,
                                                   const ModelOptions& options) {
  return ToExpected(OrExhausted([&] { return PlanRows(model, options); }));
}

Expected<Answer> LanguageModel::Chat(const std::vector<ChatMessage>& messages,
                                     const AnswerOptions& options,
                                     const TextCallback& on_text) const {
  TextRequest request = ToRequest(options);
  request.messages = Json::array();
  for (const ChatMessage& message : messages) {
    request.messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  return ToExpected(Run(*impl_->text, request, on_text));
}

Expected<Answer> LanguageModel::Complete(const std::string& prompt, const AnswerOptions& options,
                                         const TextCallback& on_text) const {
  TextRequest request = ToRequest(options);
  request.prompt = prompt;
  return ToExpected(Run(*impl_->text, request, on_text));
}

Expected<std::vector<std::int32_t>> LanguageModel::Tokenize(std::string_view text,
                                                            bool special) const {
  return ToExpected(impl_->text->text().tokenizer->Encode(text, special));
}

Expected<std::string> LanguageModel::Detokenize(const std::vector<std::int32_t>& tokens,
                                                bool special) const {
  return ToExpected(impl_->text->text().tokenizer->Decode(tokens, !special));
}

MemoryUse LanguageModel::Memory() const {
  const MemoryReport report = ReportMemory(impl_->host->ledger, impl_->host->budget);
  const auto held = [&](Owner owner) { return report.by_owner[static_cast<size_t>(owner)]; };
  return {.held_bytes = report.held_bytes,
          .peak_bytes = report.peak_bytes,
          .limit_bytes = report.budget.limit_bytes,
          .live_buffers = report.live_buffers(),
          .live_bytes = report.live_bytes(),
          .cached_buffers = report.cached_buffers,
          .cached_bytes = report.cached_bytes,
          .peak_buffers = report.budget.peak_buffers,
          .limit_buffers = report.budget.limit_buffers,
          .weights = held(Owner::kWeights),
          .kv = held(Owner::kKv),
          .state = held(Owner::kState),
          .arena = held(Owner::kArena),
          .workspace = held(Owner::kWorkspace),
          .staging = held(Owner::kStaging),
          .prefix_cache = held(Owner::kPrefixCache),
          .runtime = held(Owner::kRuntime)};
}

std::string LanguageModel::architecture() const { return impl_->engine->info().architecture; }
std::int64_t LanguageModel::context_tokens() const { return impl_->engine->cache().context_tokens; }
std::int64_t LanguageModel::vocabulary() const { return impl_->engine->info().vocab; }

}  // namespace v1
}  // namespace tonnage
