#include "backend/host/launch_list.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/embed/embed.h"

namespace tonnage {
namespace {

// Simple work per element, beside an addition's; measured roughly, used only to decide on forks.
constexpr double kGluCost = 4.0;
constexpr double kRopeTableCost = 40.0;
constexpr double kUnpackCost = 2.0;

class Lowering {
 public:
  Lowering(const ProgramSpec& spec, const HostPlan& plan, const HostWeightStore& weights,
           const KernelSet& kernels, const ProgramMemory& memory)
      : spec_(spec),
        graph_(*spec.graph),
        plan_(plan),
        weights_(weights),
        kernels_(kernels),
        memory_(memory) {}

  std::vector<std::unique_ptr<Launch>> Run(const NodeRange& range) {
    const size_t tables = range.begin == 0 ? plan_.rope_tables.size() : 0;
    for (size_t table = 0; table < tables; ++table) RopeTable(table);
    for (size_t n = range.begin; n < range.end; ++n) Lower(n);
    EndGroup();
    return std::move(list_);
  }

 private:
  void Lower(size_t n) {
    const Node& node = graph_.nodes[n];
    switch (node.op) {
      case Op::kEmbed:
        return Embed(node);
      case Op::kLinear:
        return Linear(node);
      case Op::kRmsNorm:
        return RmsNorm(node);
      case Op::kRope:
        return Rope(node, plan_.rope_table_of[n]);
      case Op::kAttention:
        return Attention(node);
      case Op::kAdd:
        return Add(node);
      case Op::kGlu:
        return Glu(node);
      case Op::kSelectRows:
        return SelectRows(node);
      case Op::kRoute:
        return Route(node);
      case Op::kExpertLinear:
        return ExpertLinear(node);
      case Op::kExpertSum:
        return ExpertSum(node);
    }
  }

  const ValueInfo& Info(Value value) const { return graph_.values[static_cast<size_t>(value.id)]; }
  // The graph's inputs lie in the workspace, where they stay for the whole step.
  std::uint8_t* Data(Value value) const {
    if (value == graph_.tokens) return memory_.workspace + plan_.workspace.tokens;
    if (value == graph_.positions) return memory_.workspace + plan_.workspace.positions;
    return memory_.arena + plan_.arena.offsets[static_cast<size_t>(value.id)];
  }
  float* F32(Value value) const { return reinterpret_cast<float*>(Data(value)); }
  std::int32_t* I32(Value value) const { return reinterpret_cast<std::int32_t*>(Data(value)); }
  const std::int32_t* Positions() const { return I32(graph_.positions); }
  float* RopeTableData(size_t table) const {
    return reinterpret_cast<float*>(memory_.workspace + plan_.workspace.rope_tables[table]);
  }
  std::span<std::uint8_t> Scratch() const {
    return {memory_.workspace + plan_.workspace.scratch,
            static_cast<size_t>(plan_.workspace.scratch_bytes)};
  }

  RowSpan SpanOf(Value value) const {
    const ValueInfo& info = Info(value);
    return {Data(value), info.width * DTypeBytes(info.dtype), ValueBytes(info, spec_.limits)};
  }
  RowSpan RopeTableSpan(size_t table) const {
    const Bytes row_bytes =
        static_cast<Bytes>(2 * plan_.rope_tables[table].inverse_frequency.size() * sizeof(float));
    return {reinterpret_cast<const std::uint8_t*>(RopeTableData(table)), row_bytes,
            row_bytes * spec_.limits.rows};
  }

  template <typename Args>
  std::unique_ptr<RowLaunch> MakeRowLaunch(
      const Node& node, const Args& args, double cost_per_element,
      typename RowKernelLaunch<Args>::Function function) const {
    auto launch = std::make_unique<RowKernelLaunch<Args>>(args, function);
    launch->extent = Info(node.outputs[0]).extent;
    launch->row_cost = cost_per_element * static_cast<double>(Info(node.inputs[0]).width +
                                                              Info(node.outputs[0]).width);
    for (Value input : node.inputs) launch->reads.push_back(SpanOf(input));
    for (Value output : node.outputs) launch->writes.push_back(SpanOf(output));
    return launch;
  }

  void Add(std::unique_ptr<RowLaunch> launch) {
    if (group_ != nullptr && group_->CanAppend(*launch)) {
      group_->Append(std::move(launch));
      return;
    }
    EndGroup();
    group_ = std::make_unique<RowGroup>(std::move(launch));
  }
  void EndGroup() {
    if (group_ != nullptr) list_.push_back(std::move(group_));
  }
  void Add(std::unique_ptr<Launch> launch) {
    EndGroup();
    list_.push_back(std::move(launch));
  }

  void RopeTable(size_t table) {
    const RopeAttrs& attrs = plan_.rope_tables[table];
    const auto pairs = static_cast<std::int64_t>(attrs.inverse_frequency.size());
    const RopeTableArgs args{.positions = Positions(),
                             .inverse_frequency = attrs.inverse_frequency.data(),
                             .pairs = pairs,
                             .magnitude = attrs.magnitude,
                             .table = RopeTableData(table)};
    auto launch = std::make_unique<RowKernelLaunch<RopeTableArgs>>(args, FillRopeTable);
    launch->extent = Extent::kStepRows;
    launch->row_cost = kRopeTableCost * static_cast<double>(pairs);
    launch->reads.push_back(SpanOf(graph_.positions));
    launch->writes.push_back(RopeTableSpan(table));
    Add(std::move(launch));
  }

  void Embed(const Node& node) {
    const EmbedArgs args{.tokens = I32(node.inputs[0]),
                         .table = &weights_.Matrix(node.weights[0]),
                         .y = F32(node.outputs[0]),
                         .scale = std::get<EmbedAttrs>(node.attrs).scale};
    Add(MakeRowLaunch(node, args, kUnpackCost, tonnage::Embed));
  }

  // Outputs whose weights chose the same kernels share one launch.
  void Linear(const Node& node) {
    std::vector<MatmulOutput> all;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      all.push_back({.weight = &weights_.Matrix(node.weights[2 * i]),
                     .bias = weights_.Vector(node.weights[2 * i + 1]),
                     .y = F32(node.outputs[i])});
    }
    for (auto& outputs : ByKernels(std::move(all), kMaxMatmulOutputs)) {
      Add(std::make_unique<LinearLaunch>(Info(node.inputs[0]).extent, F32(node.inputs[0]),
                                         std::move(outputs), Scratch()));
    }
  }

  // Groups of outputs whose weights chose the same kernels, at most so many in each.
  template <typename Output>
  static std::vector<std::vector<Output>> ByKernels(std::vector<Output> outputs, size_t most) {
    std::vector<std::vector<Output>> groups;
    for (Output& output : outputs) {
      const auto group = std::ranges::find_if(groups, [&](const std::vector<Output>& g) {
        return g.size() < most && g[0].weight->kernel == output.weight->kernel &&
               g[0].weight->prompt_kernel == output.weight->prompt_kernel;
      });
      if (group != groups.end()) {
        group->push_back(output);
      } else {
        groups.push_back({output});
      }
    }
    return groups;
  }

  void RmsNorm(const Node& node) {
    const auto& attrs = std::get<RmsNormAttrs>(node.attrs);
    const RmsNormArgs args{.x = F32(node.inputs[0]),
                           .weight = weights_.Vector(node.weights[0]),
                           .y = F32(node.outputs[0]),
                           .width = Info(node.inputs[0]).width,
                           .group = attrs.group,
                           .eps = attrs.eps,
                           .weight_offset = attrs.weight_offset};
    Add(MakeRowLaunch(node, args, 1.0, kernels_.norm->rms_norm));
  }

  void Rope(const Node& node, size_t table) {
    const auto& attrs = std::get<RopeAttrs>(node.attrs);
    const RopeArgs args{.x = F32(node.inputs[0]),
                        .table = RopeTableData(table),
                        .y = F32(node.outputs[0]),
                        .heads = attrs.heads,
                        .head_dim = attrs.head_dim,
                        .pairs = static_cast<std::int64_t>(attrs.inverse_frequency.size())};
    auto launch =
        MakeRowLaunch(node, args, 1.0,
                      attrs.interleaved ? kernels_.rope->interleaved : kernels_.rope->half_split);
    launch->reads.push_back(RopeTableSpan(table));
    Add(std::move(launch));
  }

  void Attention(const Node& node) {
    const auto& attrs = std::get<AttentionAttrs>(node.attrs);
    const LayerCache& layer = spec_.cache->layers[static_cast<size_t>(attrs.cache)];
    const bool is_full = layer.window == 0;
    AttentionArgs args;
    args.shape = AttentionShapeOf(attrs);
    args.cache = {.pages = memory_.kv + plan_.kv_offsets[static_cast<size_t>(attrs.cache)],
                  .dtype = spec_.cache_settings.kv_dtype,
                  .pages_per_slot = PagesPerSlot(layer, spec_.cache_settings),
                  .page_table = is_full ? reinterpret_cast<const std::int32_t*>(
                                              memory_.workspace + plan_.workspace.page_table)
                                        : nullptr};
    CHECK_EQ(PageBytes(layer, args.cache.dtype), AttentionPageBytes(args.shape, args.cache.dtype));
    args.q = F32(node.inputs[0]);
    args.k = F32(node.inputs[1]);
    args.v = F32(node.inputs[2]);
    args.sinks = node.weights.empty() ? nullptr : weights_.Vector(node.weights[0]);
    args.out = F32(node.outputs[0]);
    args.max_rows = spec_.limits.rows;
    args.positions = Positions();
    args.slots = reinterpret_cast<const std::int32_t*>(memory_.workspace + plan_.workspace.slots);
    Add(std::make_unique<AttentionLaunch>(args, *kernels_.attention, plan_.prompt_attention,
                                          Scratch()));
  }

  void Add(const Node& node) {
    const AddArgs args{.a = F32(node.inputs[0]),
                       .b = F32(node.inputs[1]),
                       .y = F32(node.outputs[0]),
                       .width = Info(node.outputs[0]).width};
    Add(MakeRowLaunch(node, args, 1.0, kernels_.elementwise->add));
  }

  void Glu(const Node& node) {
    const GluArgs args{.gate = F32(node.inputs[0]),
                       .up = F32(node.inputs[1]),
                       .y = F32(node.outputs[0]),
                       .width = Info(node.outputs[0]).width};
    const bool is_silu = std::get<GluAttrs>(node.attrs).activation == Activation::kSilu;
    Add(MakeRowLaunch(
        node, args, kGluCost,
        is_silu ? kernels_.elementwise->silu_glu : kernels_.elementwise->gelu_tanh_glu));
  }

  void SelectRows(const Node& node) {
    const SelectRowsArgs args{.x = F32(node.inputs[0]),
                              .index = reinterpret_cast<const std::int32_t*>(
                                  memory_.workspace + plan_.workspace.logit_rows),
                              .y = F32(node.outputs[0]),
                              .width = Info(node.outputs[0]).width};
    auto launch = MakeRowLaunch(node, args, 1.0, tonnage::SelectRows);
    launch->reads[0].row_bytes = 0;  // reads other rows than it writes
    Add(std::move(launch));
  }

  void Route(const Node& node) {
    const auto& attrs = std::get<RouteAttrs>(node.attrs);
    const RouteArgs args{.logits = F32(node.inputs[0]),
                         .ids = I32(node.outputs[0]),
                         .weights = F32(node.outputs[1]),
                         .experts = attrs.experts,
                         .top_k = attrs.top_k,
                         .normalize = attrs.normalize};
    Add(MakeRowLaunch(node, args, static_cast<double>(attrs.top_k), kernels_.moe->route));
  }

  void ExpertLinear(const Node& node) {
    const auto& attrs = std::get<ExpertLinearAttrs>(node.attrs);
    const ExpertMatmulArgs args{.x = F32(node.inputs[0]),
                                .input_per_expert = attrs.input_per_expert,
                                .top_k = attrs.top_k,
                                .ids = I32(node.inputs[1]),
                                .outputs = {}};
    std::vector<ExpertOutput> all;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      all.push_back({&weights_.Matrix(node.weights[i]), F32(node.outputs[i])});
    }
    for (auto& outputs : ByKernels(std::move(all), kMaxExpertOutputs)) {
      Add(std::make_unique<ExpertLinearLaunch>(Info(node.inputs[0]).extent, args,
                                               std::move(outputs), Scratch()));
    }
  }

  void ExpertSum(const Node& node) {
    const ExpertSumArgs args{.x = F32(node.inputs[0]),
                             .weights = F32(node.inputs[1]),
                             .y = F32(node.outputs[0]),
                             .top_k = std::get<ExpertSumAttrs>(node.attrs).top_k,
                             .width = Info(node.outputs[0]).width};
    Add(MakeRowLaunch(node, args, 1.0, kernels_.moe->expert_sum));
  }

  const ProgramSpec& spec_;
  const Graph& graph_;
  const HostPlan& plan_;
  const HostWeightStore& weights_;
  const KernelSet& kernels_;
  const ProgramMemory& memory_;
  std::unique_ptr<RowGroup> group_;  // row launches that are still being collected
  std::vector<std::unique_ptr<Launch>> list_;
};

}  // namespace

std::vector<std::unique_ptr<Launch>> MakeLaunchList(const ProgramSpec& spec, const NodeRange& range,
                                                    const HostPlan& plan,
                                                    const HostWeightStore& weights,
                                                    const KernelSet& kernels,
                                                    const ProgramMemory& memory) {
  return Lowering(spec, plan, weights, kernels, memory).Run(range);
}

}  // namespace tonnage
