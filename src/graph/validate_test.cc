#include "graph/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "graph/test_graphs.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

Node& FirstOf(Graph& graph, Op op) { return *std::ranges::find(graph.nodes, op, &Node::op); }

struct Violation {
  std::string_view message;
  std::function<void(Graph&, CacheLayout&)> make;
};

template <typename T>
T& AttrsOf(Graph& graph, Op op) {
  return std::get<T>(FirstOf(graph, op).attrs);
}

const Violation kViolations[] = {
    {"an input does not exist", [](Graph& g, CacheLayout&) { g.nodes[3].inputs[0].id = 9999; }},
    {"an output does not exist", [](Graph& g, CacheLayout&) { g.nodes[3].outputs[0].id = -1; }},
    {"a weight does not exist", [](Graph& g, CacheLayout&) { g.nodes[0].weights[0].id = 9999; }},
    {"a weight is missing", [](Graph& g, CacheLayout&) { g.nodes[0].weights[0].id = -1; }},
    {"wrong number of inputs",
     [](Graph& g, CacheLayout&) { FirstOf(g, Op::kAdd).inputs.pop_back(); }},
    {"wrong number of weights",
     [](Graph& g, CacheLayout&) { FirstOf(g, Op::kLinear).weights.pop_back(); }},
    {"attributes of another op", [](Graph& g, CacheLayout&) { FirstOf(g, Op::kGlu).attrs = {}; }},
    {"the weight must be [n, k]",
     [](Graph& g, CacheLayout&) {
       g.weights[static_cast<size_t>(FirstOf(g, Op::kLinear).weights[0].id)].shape = {32, 25};
     }},
    {"the group must divide the width",
     [](Graph& g, CacheLayout&) { AttrsOf<RmsNormAttrs>(g, Op::kRmsNorm).group = 7; }},
    {"the rotated part must lie within a head",
     [](Graph& g, CacheLayout&) { AttrsOf<RopeAttrs>(g, Op::kRope).inverse_frequency.resize(5); }},
    {"kv_heads must divide heads",
     [](Graph& g, CacheLayout&) { AttrsOf<AttentionAttrs>(g, Op::kAttention).kv_heads = 3; }},
    {"the sinks must be [heads]",
     [](Graph& g, CacheLayout&) {
       g.weights[static_cast<size_t>(FirstOf(g, Op::kAttention).weights[0].id)].shape = {5};
     }},
    {"top_k must be within experts",
     [](Graph& g, CacheLayout&) { AttrsOf<RouteAttrs>(g, Op::kRoute).top_k = 7; }},
    {"the input does not fit the weight",
     [](Graph& g, CacheLayout&) {
       AttrsOf<ExpertLinearAttrs>(g, Op::kExpertLinear).input_per_expert = true;
     }},
    {"uses cache 2 of 2",
     [](Graph& g, CacheLayout&) { AttrsOf<AttentionAttrs>(g, Op::kAttention).cache = 2; }},
    {"and its cache differ", [](Graph&, CacheLayout& c) { c.layers[0].window = 17; }},
    {"before its origin", [](Graph& g, CacheLayout&) { std::swap(g.nodes[1], g.nodes[2]); }},
    {"has two origins", [](Graph& g, CacheLayout&) { g.nodes.push_back(FirstOf(g, Op::kAdd)); }},
    {"has no origin", [](Graph& g, CacheLayout&) { g.values.push_back({}); }},
    {"the logits are no value", [](Graph& g, CacheLayout&) { g.logits = g.tokens; }},
};

TEST(Validate, NamesEveryViolation) {
  for (const Violation& violation : kViolations) {
    Graph graph = TestDecoder();
    CacheLayout cache = TestDecoderCache();
    violation.make(graph, cache);
    const Status status = Validate(graph, cache);
    ASSERT_FALSE(status.ok()) << violation.message;
    EXPECT_EQ(status.error().code(), Code::kInternal);
    EXPECT_THAT(status.error().message(), HasSubstr(violation.message));
  }
}

}  // namespace
}  // namespace tonnage
