#include "engine/loader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/rewrite.h"

namespace tonnage {
namespace {

static_assert(kBlockRows % kStoreBlockRows == 0, "what a source reads is whole blocks of a store");

// Whole pages wherever this runs, so that the staging buffer takes what was quoted.
constexpr Bytes kLargestPageBytes = 64 * kKiB;

// Everything that a ProgramSpec borrows, for one model on one device with one kind of settings.
class Blueprint {
 public:
  static Result<Blueprint> Make(const OpenedModel& model, const Backend& backend,
                                const LoadSettings& settings);

  const ServingSettings& settings() const { return serving_; }
  CacheSettings Cache(const ServingSettings& serving) const;
  StepLimits Step(const ServingSettings& serving) const;
  ProgramSpec Spec(const ServingSettings& serving) const;
  Result<Quote> Price(const ServingSettings& serving) const;
  Result<LoadPlan> Plan(const ServingSettings& serving, const Available& available) const;
  const Graph& graph() const { return graph_; }
  Bytes staging_bytes() const { return staging_bytes_; }

 private:
  Blueprint(const OpenedModel& model, const Backend& backend, const LoadSettings& settings)
      : model_(model),
        backend_(backend),
        load_(settings),
        graph_(Optimize(model.model.graph)),
        formats_(model.Formats()) {}

  const OpenedModel& model_;
  const Backend& backend_;
  LoadSettings load_;
  ServingSettings serving_;
  Graph graph_;
  std::vector<Format> formats_;  // by WeightId
  Bytes staging_bytes_ = 0;      // the largest block of rows that is converted
};

Status CheckRange(std::string_view field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return InvalidArgument("{} is {}, but must be from {} to {}", field, value, low, high);
}

Result<Blueprint> Blueprint::Make(const OpenedModel& model, const Backend& backend,
                                  const LoadSettings& settings) {
  const std::int64_t limit = model.model.info.context_limit;
  const std::int64_t context = settings.context_tokens.value_or(
      limit > 0 ? std::min(limit, kDefaultContextTokens) : kDefaultContextTokens);
  if (limit > 0 && context > limit) {
    return InvalidArgument("a context of {} tokens is asked for, but the model was trained for {}",
                           FormatThousands(context), FormatThousands(limit));
  }
  RETURN_IF_ERROR(CheckRange("context", context, 1, std::int64_t{1} << 30));
  RETURN_IF_ERROR(CheckRange("slots", settings.slots, 1, 4096));
  RETURN_IF_ERROR(CheckRange("slice rows", settings.slice_rows, 1, 65536));
  RETURN_IF_ERROR(CheckRange("logit rows", settings.logit_rows, 0, 65536));

  Blueprint blueprint(model, backend, settings);
  blueprint.serving_ = {context, settings.slots, settings.kv_dtype};
  for (const WeightSource& source : model.sources) {
    blueprint.staging_bytes_ =
        std::max(blueprint.staging_bytes_, RoundUp(source.staging_bytes(), kLargestPageBytes));
  }
  return blueprint;
}

CacheSettings Blueprint::Cache(const ServingSettings& serving) const {
  return {.context_tokens = serving.context_tokens,
          .slots = serving.slots,
          .max_slice_rows = std::min(load_.slice_rows, serving.context_tokens),
          .kv_dtype = serving.kv_dtype};
}

StepLimits Blueprint::Step(const ServingSettings& serving) const {
  const std::int64_t rows = serving.slots + Cache(serving).max_slice_rows;
  return {.rows = rows, .logit_rows = std::clamp(load_.logit_rows, serving.slots, rows)};
}

ProgramSpec Blueprint::Spec(const ServingSettings& serving) const {
  return {.graph = &graph_,
          .formats = formats_,
          .cache = &model_.model.cache,
          .cache_settings = Cache(serving),
          .limits = Step(serving),
          .precision = load_.precision};
}

Result<Quote> Blueprint::Price(const ServingSettings& serving) const {
  ASSIGN_OR_RETURN(const ProgramPrice price, backend_.Price(Spec(serving)));
  constexpr std::int64_t kRuntimeEntry = 1, kStagingBuffer = 1;
  const Bytes engine =
      EngineBytes(model_.model.info.vocab, Cache(serving), Step(serving), load_.queue);
  return Quote{.device = backend_.device(),
               .weights = price.weights,
               .kv = price.kv,
               .arena = price.arena,
               .workspace = price.workspace,
               .staging = staging_bytes_,
               .runtime = load_.process_bytes + price.runtime + engine,
               .buffers = kRuntimeEntry + price.weight_buffers +
                          std::max(kStagingBuffer, price.program_buffers)};
}

Result<LoadPlan> Blueprint::Plan(const ServingSettings& serving, const Available& available) const {
  ASSIGN_OR_RETURN(const Quote quote, Price(serving));
  ASSIGN_OR_RETURN(auto refusal, Judge([this](const ServingSettings& s) { return Price(s); },
                                       serving, quote, available));
  return LoadPlan{serving, quote, std::move(refusal)};
}

// The ids of all weights, those of one layer together.
std::vector<size_t> LoadOrder(const Graph& graph) {
  std::vector<size_t> order(graph.weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return graph.weights[a].layer < graph.weights[b].layer;
  });
  return order;
}

// A block of rows of the weight `id`.
struct LoadStep {
  size_t id;
  WeightBlock block;
};
std::vector<LoadStep> LoadSteps(const OpenedModel& model, const Graph& graph) {
  std::vector<LoadStep> steps;
  for (const size_t id : LoadOrder(graph)) {
    for (const WeightBlock& block : model.sources[id].Blocks()) steps.push_back({id, block});
  }
  return steps;
}

Status StoreWeights(const OpenedModel& model, const Graph& graph, WeightStore& store,
                    std::span<std::uint8_t> staging, const LoadHooks& hooks) {
  Bytes done = 0, total = 0;
  for (const WeightSource& source : model.sources) total += source.bytes();
  const std::vector<LoadStep> steps = LoadSteps(model, graph);
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& [id, block] = steps[i];
    const std::string& name = graph.weights[id].name;
    if (hooks.cancelled != nullptr && hooks.cancelled->load()) {
      return Cancelled("loading was stopped at {} of {}", FormatBytes(done), FormatBytes(total));
    }
    if (hooks.progress) hooks.progress(done, total, name);
    if (i + 1 < steps.size()) steps[i + 1].block.Prefetch();
    const Status stored = store.Store({static_cast<int>(id)}, block.first_row, block.Read(staging));
    if (!stored.ok()) return stored.error().In(name);
    block.Release();
    done += block.rows * model.sources[id].row_bytes();
  }
  if (hooks.progress) hooks.progress(done, total, "");
  return {};
}

// One row of one slot: whatever a first step finds out, it finds before the first request.
Status WarmUp(Backend& backend, Program& program, const CacheSettings& cache) {
  KvPagePool pages(cache.slots, cache.context_tokens);
  const auto reservation = pages.Reserve(1);
  const std::int32_t token = 0, position = 0, slot = reservation->slot(), row = 0;
  ASSIGN_OR_RETURN(const Event event, backend.Submit(program, {.tokens = {&token, 1},
                                                               .positions = {&position, 1},
                                                               .slots = {&slot, 1},
                                                               .logit_rows = {&row, 1},
                                                               .page_table = pages.table()}));
  return backend.Wait(event);
}

}  // namespace

Result<LoadPlan> PlanLoad(const OpenedModel& model, const Backend& backend,
                          const LoadSettings& settings, const Available& available) {
  ASSIGN_OR_RETURN(const Blueprint blueprint, Blueprint::Make(model, backend, settings));
  return blueprint.Plan(blueprint.settings(), available);
}

Result<std::vector<LoadPlan>> PlanRungs(const OpenedModel& model, const Backend& backend,
                                        const LoadSettings& settings, const Available& available) {
  ASSIGN_OR_RETURN(const Blueprint blueprint, Blueprint::Make(model, backend, settings));
  const std::int64_t limit = settings.context_tokens.value_or(
      std::max(model.model.info.context_limit, blueprint.settings().context_tokens));
  std::vector<LoadPlan> rungs;
  ServingSettings serving = blueprint.settings();
  for (bool last = false; !last; serving.context_tokens *= 2) {
    last = serving.context_tokens >= limit;
    serving.context_tokens = std::min(serving.context_tokens, limit);
    ASSIGN_OR_RETURN(LoadPlan plan, blueprint.Plan(serving, available));
    rungs.push_back(std::move(plan));
  }
  return rungs;
}

Status WithProgramSpec(const OpenedModel& model, const Backend& backend,
                       const LoadSettings& settings,
                       const std::function<Status(const ProgramSpec&)>& use) {
  ASSIGN_OR_RETURN(const Blueprint blueprint, Blueprint::Make(model, backend, settings));
  return use(blueprint.Spec(blueprint.settings()));
}

Result<LoadedModel> LoadModel(const OpenedModel& model, Backend& backend, Allocator& host,
                              const LoadSettings& settings, const Available& available,
                              const LoadHooks& hooks) {
  ASSIGN_OR_RETURN(const Blueprint blueprint, Blueprint::Make(model, backend, settings));
  const ServingSettings& serving = blueprint.settings();
  ASSIGN_OR_RETURN(const LoadPlan plan, blueprint.Plan(serving, available));
  if (hooks.planned) hooks.planned(plan);
  if (plan.refusal) return Error(Code::kRefused, plan.refusal->Message());

  const ProgramSpec spec = blueprint.Spec(serving);
  ASSIGN_OR_RETURN(Buffer runtime, host.Account(Owner::kRuntime, plan.quote.runtime));
  ASSIGN_OR_RETURN(auto store, backend.MakeWeightStore(spec));
  {
    ASSIGN_OR_RETURN(const Buffer staging,
                     host.Allocate(Owner::kStaging, blueprint.staging_bytes()));
    const std::span bytes(staging.data(), static_cast<size_t>(staging.bytes()));
    RETURN_IF_ERROR(StoreWeights(model, blueprint.graph(), *store, bytes, hooks));
  }
  LoadedModel loaded{.info = model.model.info,
                     .cache = spec.cache_settings,
                     .step = spec.limits,
                     .queue = settings.queue,
                     .quote = plan.quote,
                     .runtime = std::move(runtime),
                     .backend = &backend};
  ASSIGN_OR_RETURN(loaded.program, backend.MakeProgram(spec, std::move(store)));
  RETURN_IF_ERROR(WarmUp(backend, *loaded.program, loaded.cache));
  return loaded;
}

}  // namespace tonnage
