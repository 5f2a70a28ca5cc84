#include "backend/host/plan.h"

#include <algorithm>
#include <map>

#include "graph/validate.h"

namespace tonnage {
namespace {

constexpr Bytes kAlignment = 64;  // a cache line, and the widest vector
constexpr std::int64_t kMaxElements = std::int64_t{1}
                                      << 48;  // of one weight: far beyond any memory
constexpr std::int64_t kMaxRows = std::int64_t{1} << 20;

static_assert(kKvPageTokens == kAttentionPageTokens, "a page is one block of attention");

// The packed size of a matrix of an acceptable shape.
Result<WeightPlace> PlanWeight(const WeightSpec& spec, const Format& format, Precision precision,
                               const KernelSet& kernels) {
  std::int64_t elements = 1;
  for (int i = 0; i < spec.shape.rank(); ++i) {
    const auto product = CheckedMul(elements, spec.shape[i]);
    if (spec.shape[i] <= 0 || !product || *product > kMaxElements) {
      return Unsupported("weight `{}`: shape {} is no size of a weight", spec.name,
                         spec.shape.ToString());
    }
    elements = *product;
  }
  WeightPlace place{.format = format};
  if (spec.shape.rank() < 1 || spec.shape.rank() > 3) {
    return Unsupported("weight `{}`: {} has no rank of a weight", spec.name, spec.shape.ToString());
  }
  place.k = spec.shape[spec.shape.rank() - 1];
  if (place.k % format.BlockElements() != 0) {
    return Unsupported("weight `{}`: rows of {} elements are no whole blocks of {}", spec.name,
                       place.k, format.Name());
  }
  if (spec.shape.rank() == 1) {
    place.matrix_bytes = RoundUp(place.k * DTypeBytes(DType::kF32), kAlignment);
    return place;
  }
  place.n = spec.shape[spec.shape.rank() - 2];
  if (spec.shape.rank() == 3) place.experts = spec.shape[0];
  place.kernel =
      &SelectMatmul(format, place.n, place.k, precision, kernels.features, kernels.forced);
  place.prompt_kernel = SelectPromptMatmul(*place.kernel, format, place.n, place.k, precision,
                                           kernels.features, kernels.forced);
  place.matrix_bytes = place.kernel->packed_bytes(format, place.n, place.k);
  return place;
}

// Offsets that rise by aligned sizes.
class Stack {
 public:
  Bytes Push(Bytes bytes) {
    const Bytes offset = top_;
    top_ += RoundUp(bytes, kAlignment);
    return offset;
  }
  Bytes top() const { return top_; }

 private:
  Bytes top_ = 0;
};

bool SameTable(const RopeAttrs& a, const RopeAttrs& b) {
  return a.inverse_frequency == b.inverse_frequency && a.magnitude == b.magnitude;
}

// What a matrix's kernels need for so many rows, or (row, expert) pairs.
Bytes MatmulScratchBytes(const WeightPlace& place, std::int64_t rows, int threads) {
  const Bytes bytes = place.kernel->workspace_bytes(rows, place.k, place.experts);
  if (place.prompt_kernel == nullptr) return bytes;
  return std::max(bytes,
                  place.prompt_kernel->workspace_bytes(rows, place.k, place.experts, threads));
}

// What a node's kernel needs beside its operands.
Bytes ScratchBytes(const ProgramSpec& spec, const Node& node, const HostPlan& plan,
                   const KernelSet& kernels, int threads) {
  const ValueInfo& x = spec.graph->values[static_cast<size_t>(node.inputs[0].id)];
  const std::int64_t rows = spec.limits.RowsOf(x.extent);
  if (node.op == Op::kLinear || node.op == Op::kExpertLinear) {
    const auto* experts = std::get_if<ExpertLinearAttrs>(&node.attrs);
    const std::int64_t pairs = experts == nullptr ? rows : rows * experts->top_k;
    Bytes bytes = 0;
    for (size_t i = 0; i < node.weights.size(); i += experts == nullptr ? 2 : 1) {  // no biases
      const WeightPlace& place = plan.weights.places[static_cast<size_t>(node.weights[i].id)];
      bytes = std::max(bytes, MatmulScratchBytes(place, pairs, threads));
    }
    return bytes;
  }
  if (node.op == Op::kAttention) {
    const AttentionShape shape = AttentionShapeOf(std::get<AttentionAttrs>(node.attrs));
    const AttentionLimits limits = {
        .rows = rows, .context_tokens = spec.cache_settings.context_tokens, .threads = threads};
    const Bytes bytes = kernels.attention->workspace_bytes(shape, limits);
    if (plan.prompt_attention == nullptr) return bytes;
    return std::max(bytes, plan.prompt_attention->workspace_bytes(shape, limits));
  }
  return 0;
}

Status CheckSpec(const ProgramSpec& spec) {
  const CacheSettings& cache = spec.cache_settings;
  RETURN_IF_ERROR(Validate(*spec.graph, *spec.cache));
  if (spec.formats.size() != spec.graph->weights.size()) {
    return InvalidArgument("{} weights, but the formats of {}", spec.graph->weights.size(),
                           spec.formats.size());
  }
  if (!IsKvType(cache.kv_dtype)) {
    return Unsupported("a KV cache of {}: use f32, f16, bf16 or q8", DTypeName(cache.kv_dtype));
  }
  if (spec.limits.rows < 1 || spec.limits.rows > kMaxRows || spec.limits.logit_rows < 1 ||
      spec.limits.logit_rows > spec.limits.rows) {
    return InvalidArgument("a step of {} rows and {} logit rows: 1 to {} rows are possible",
                           spec.limits.rows, spec.limits.logit_rows, kMaxRows);
  }
  constexpr std::int64_t kMaxContext = std::int64_t{1} << 30;  // positions are i32
  if (cache.context_tokens < 1 || cache.context_tokens > kMaxContext || cache.slots < 1 ||
      cache.slots > kMaxRows || cache.max_slice_rows < 1) {
    return InvalidArgument("a cache of {} tokens, {} slots and slices of {} rows is not possible",
                           cache.context_tokens, cache.slots, cache.max_slice_rows);
  }
  return {};
}

void PlanRopeTables(const Graph& graph, HostPlan& plan) {
  plan.rope_table_of.resize(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto* attrs = std::get_if<RopeAttrs>(&graph.nodes[n].attrs);
    if (attrs == nullptr) continue;
    const auto same = std::ranges::find_if(
        plan.rope_tables, [&](const RopeAttrs& table) { return SameTable(table, *attrs); });
    plan.rope_table_of[n] = static_cast<size_t>(same - plan.rope_tables.begin());
    if (same == plan.rope_tables.end()) plan.rope_tables.push_back(*attrs);
  }
}

}  // namespace

ProgramPrice HostPlan::Price(const Allocator& allocator) const {
  // What the heap holds of a node in plans and launch list, and of a weight; measured.
  constexpr Bytes kNodeBytes = 1536;
  constexpr Bytes kWeightBytes = 512;
  constexpr std::int64_t kProgramBuffers = 3;  // kv, arena and workspace
  ProgramPrice price{.kv = allocator.Footprint(kv_bytes),
                     .arena = allocator.Footprint(arena.arena_bytes),
                     .workspace = allocator.Footprint(workspace.total),
                     .weight_buffers = static_cast<std::int64_t>(weights.buffer_bytes.size()),
                     .program_buffers = kProgramBuffers};
  for (Bytes bytes : weights.buffer_bytes) price.weights += allocator.Footprint(bytes);
  price.runtime = static_cast<Bytes>(rope_table_of.size()) * kNodeBytes +
                  static_cast<Bytes>(weights.places.size()) * kWeightBytes;
  return price;
}

AttentionShape AttentionShapeOf(const AttentionAttrs& attrs) {
  return {.heads = attrs.heads,
          .kv_heads = attrs.kv_heads,
          .k_dim = attrs.head_dim,
          .v_dim = attrs.v_dim,
          .scale = attrs.scale,
          .window = attrs.window,
          .soft_cap = attrs.soft_cap};
}

Result<WeightPlan> PlanWeights(const ProgramSpec& spec, const KernelSet& kernels) {
  WeightPlan plan;
  std::map<int, size_t> buffer_of_layer;
  for (size_t id = 0; id < spec.graph->weights.size(); ++id) {
    const WeightSpec& weight = spec.graph->weights[id];
    ASSIGN_OR_RETURN(WeightPlace place,
                     PlanWeight(weight, spec.formats[id], spec.precision, kernels));
    const auto bytes = CheckedMul(place.matrix_bytes, place.experts);
    const auto [buffer, is_new] =
        buffer_of_layer.try_emplace(weight.layer, plan.buffer_bytes.size());
    if (is_new) plan.buffer_bytes.push_back(0);
    place.buffer = buffer->second;
    place.offset = plan.buffer_bytes[place.buffer];
    if (!bytes || *bytes > kUnpayableBytes - place.offset) {
      return Unsupported("weight `{}`: more bytes than any memory has", weight.name);
    }
    plan.buffer_bytes[place.buffer] += RoundUp(*bytes, kAlignment);
    plan.places.push_back(place);
  }
  return plan;
}

Result<HostPlan> MakeHostPlan(const ProgramSpec& spec, const KernelSet& kernels, int threads) {
  RETURN_IF_ERROR(CheckSpec(spec));
  const Graph& graph = *spec.graph;
  const CacheSettings& settings = spec.cache_settings;
  HostPlan plan;
  ASSIGN_OR_RETURN(plan.weights, PlanWeights(spec, kernels));

  plan.kv_bytes = CacheBytes(*spec.cache, settings);
  if (plan.kv_bytes >= kUnpayableBytes) {
    return Unsupported("a KV cache of {} tokens in {} slots has more bytes than any memory",
                       settings.context_tokens, settings.slots);
  }
  Bytes kv_offset = 0;
  for (const LayerCache& layer : spec.cache->layers) {
    plan.kv_offsets.push_back(kv_offset);
    kv_offset +=
        settings.slots * PagesPerSlot(layer, settings) * PageBytes(layer, settings.kv_dtype);
    if (layer.window == 0) plan.pages_per_slot = PagesPerSlot(layer, settings);
  }
  CHECK_EQ(kv_offset, plan.kv_bytes);

  plan.arena = PlanBuffers(graph, spec.limits);
  PlanRopeTables(graph, plan);
  plan.prompt_attention = SelectPromptAttention(spec.precision, kernels.features, kernels.forced);

  WorkspacePlan& workspace = plan.workspace;
  const Bytes row_ids = spec.limits.rows * DTypeBytes(DType::kI32);
  Stack stack;
  workspace.tokens = stack.Push(row_ids);
  workspace.positions = stack.Push(row_ids);
  workspace.slots = stack.Push(row_ids);
  workspace.logit_rows = stack.Push(spec.limits.logit_rows * DTypeBytes(DType::kI32));
  workspace.page_table_entries = settings.slots * plan.pages_per_slot;
  workspace.page_table = stack.Push(workspace.page_table_entries * DTypeBytes(DType::kI32));
  for (const RopeAttrs& table : plan.rope_tables) {
    const auto pairs = static_cast<std::int64_t>(table.inverse_frequency.size());
    workspace.rope_tables.push_back(
        stack.Push(spec.limits.rows * 2 * pairs * DTypeBytes(DType::kF32)));
  }
  for (const Node& node : graph.nodes) {
    workspace.scratch_bytes =
        std::max(workspace.scratch_bytes, ScratchBytes(spec, node, plan, kernels, threads));
  }
  workspace.scratch = stack.Push(workspace.scratch_bytes);
  workspace.total = stack.top();
  return plan;
}

}  // namespace tonnage
