// A graph computed the obvious way, one sequence at a time, in double and without a cache: what
// backend tests compare programs with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace tonnage {

class Interpreter {
 public:
  // `weights` by WeightId, row by row.
  Interpreter(const Graph& graph, const std::vector<std::vector<float>>& weights)
      : graph_(graph), weights_(weights) {}

  // Logits [tokens, vocab] at every position of the sequence.
  std::vector<double> Logits(std::span<const std::int32_t> tokens) {
    rows_ = tokens.size();
    values_.assign(graph_.values.size(), {});
    Of(graph_.tokens).assign(tokens.begin(), tokens.end());
    for (size_t row = 0; row < rows_; ++row) {
      Of(graph_.positions).push_back(static_cast<double>(row));
    }
    for (const Node& node : graph_.nodes) Run(node);
    return Of(graph_.logits);
  }

 private:
  using Matrix = std::vector<double>;

  Matrix& Of(Value value) { return values_[static_cast<size_t>(value.id)]; }
  size_t Width(Value value) const {
    return static_cast<size_t>(graph_.values[static_cast<size_t>(value.id)].width);
  }
  const std::vector<float>& Weight(const Node& node, size_t i) const {
    return weights_[static_cast<size_t>(node.weights[i].id)];
  }

  void Run(const Node& node) {
    for (Value output : node.outputs) Of(output).assign(rows_ * Width(output), 0.0);
    for (size_t row = 0; row < rows_; ++row) RunRow(node, row);
  }

  void RunRow(const Node& node, size_t row) {
    const size_t in_width = Width(node.inputs[0]);
    const size_t out_width = Width(node.outputs[0]);
    const double* x = &Of(node.inputs[0])[row * in_width];
    double* y = &Of(node.outputs[0])[row * out_width];
    switch (node.op) {
      case Op::kEmbed:
        for (size_t i = 0; i < out_width; ++i) {
          y[i] = Weight(node, 0)[static_cast<size_t>(x[0]) * out_width + i] *
                 std::get<EmbedAttrs>(node.attrs).scale;
        }
        return;
      case Op::kLinear:
        for (size_t o = 0; o < node.outputs.size(); ++o) {
          const size_t n = Width(node.outputs[o]);
          Linear(x, in_width, Weight(node, 2 * o), 0, n, &Of(node.outputs[o])[row * n]);
          if (!node.weights[2 * o + 1].valid()) continue;
          for (size_t i = 0; i < n; ++i) {
            Of(node.outputs[o])[row * n + i] += Weight(node, 2 * o + 1)[i];
          }
        }
        return;
      case Op::kRmsNorm:
        return RmsNorm(std::get<RmsNormAttrs>(node.attrs), Weight(node, 0), x, y, in_width);
      case Op::kRope:
        return Rope(std::get<RopeAttrs>(node.attrs), static_cast<double>(row), x, y);
      case Op::kAttention:
        return Attention(node, row, y);
      case Op::kAdd:
        for (size_t i = 0; i < out_width; ++i) {
          y[i] = x[i] + Of(node.inputs[1])[row * in_width + i];
        }
        return;
      case Op::kGlu:
        for (size_t i = 0; i < out_width; ++i) {
          y[i] = Activate(std::get<GluAttrs>(node.attrs).activation, x[i]) *
                 Of(node.inputs[1])[row * in_width + i];
        }
        return;
      case Op::kSelectRows:
        std::copy(x, x + out_width, y);
        return;
      case Op::kRoute:
        return Route(std::get<RouteAttrs>(node.attrs), x, y, &Of(node.outputs[1])[row * out_width]);
      case Op::kExpertLinear:
        return ExpertLinear(node, row, x);
      case Op::kExpertSum: {
        const size_t top_k = Width(node.inputs[1]);
        for (size_t j = 0; j < top_k; ++j) {
          const double weight = Of(node.inputs[1])[row * top_k + j];
          for (size_t i = 0; i < out_width; ++i) y[i] += weight * x[j * out_width + i];
        }
        return;
      }
    }
  }

  static void Linear(const double* x, size_t k, const std::vector<float>& w, size_t first_row,
                     size_t n, double* y) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < k; ++j) y[i] += x[j] * w[(first_row + i) * k + j];
    }
  }

  static double Activate(Activation activation, double z) {
    if (activation == Activation::kSilu) return z / (1.0 + std::exp(-z));
    return 0.5 * z * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (z + 0.044715 * z * z * z)));
  }

  static void RmsNorm(const RmsNormAttrs& attrs, const std::vector<float>& weight, const double* x,
                      double* y, size_t width) {
    const auto group = static_cast<size_t>(attrs.group);
    for (size_t start = 0; start < width; start += group) {
      double squares = 0.0;
      for (size_t i = 0; i < group; ++i) squares += x[start + i] * x[start + i];
      const double scale = 1.0 / std::sqrt(squares / static_cast<double>(group) + attrs.eps);
      for (size_t i = 0; i < group; ++i) {
        y[start + i] = x[start + i] * scale * (weight[i] + attrs.weight_offset);
      }
    }
  }

  static void Rope(const RopeAttrs& attrs, double position, const double* x, double* y) {
    const size_t pairs = attrs.inverse_frequency.size();
    const auto head_dim = static_cast<size_t>(attrs.head_dim);
    for (size_t head = 0; head < static_cast<size_t>(attrs.heads); ++head) {
      const double* in = x + head * head_dim;
      double* out = y + head * head_dim;
      std::copy(in, in + head_dim, out);
      for (size_t i = 0; i < pairs; ++i) {
        const size_t a = attrs.interleaved ? 2 * i : i;
        const size_t b = attrs.interleaved ? 2 * i + 1 : i + pairs;
        const double c = std::cos(position * attrs.inverse_frequency[i]) * attrs.magnitude;
        const double s = std::sin(position * attrs.inverse_frequency[i]) * attrs.magnitude;
        out[a] = in[a] * c - in[b] * s;
        out[b] = in[b] * c + in[a] * s;
      }
    }
  }

  void Attention(const Node& node, size_t row, double* y) {
    const auto& attrs = std::get<AttentionAttrs>(node.attrs);
    const auto k_dim = static_cast<size_t>(attrs.head_dim);
    const auto v_dim = static_cast<size_t>(attrs.v_dim);
    const auto window = static_cast<size_t>(attrs.window);
    const size_t first = window > 0 && row + 1 > window ? row + 1 - window : 0;
    for (size_t h = 0; h < static_cast<size_t>(attrs.heads); ++h) {
      const size_t g = h * static_cast<size_t>(attrs.kv_heads) / static_cast<size_t>(attrs.heads);
      std::vector<double> p;
      for (size_t t = first; t <= row; ++t) {
        double score = 0.0;
        for (size_t i = 0; i < k_dim; ++i) {
          score += Of(node.inputs[0])[row * Width(node.inputs[0]) + h * k_dim + i] *
                   Of(node.inputs[1])[t * Width(node.inputs[1]) + g * k_dim + i];
        }
        score *= attrs.scale;
        if (attrs.soft_cap > 0) score = attrs.soft_cap * std::tanh(score / attrs.soft_cap);
        p.push_back(score);
      }
      double largest = *std::max_element(p.begin(), p.end());
      double sum = 0.0;
      if (!node.weights.empty()) {
        const double sink = Weight(node, 0)[h];
        largest = std::max(largest, sink);
        sum = std::exp(sink - largest);
      }
      for (double& score : p) sum += score = std::exp(score - largest);
      for (size_t t = first; t <= row; ++t) {
        for (size_t i = 0; i < v_dim; ++i) {
          y[h * v_dim + i] +=
              p[t - first] / sum * Of(node.inputs[2])[t * Width(node.inputs[2]) + g * v_dim + i];
        }
      }
    }
  }

  static void Route(const RouteAttrs& attrs, const double* x, double* ids, double* weights) {
    std::vector<size_t> order(static_cast<size_t>(attrs.experts));
    double sum = 0.0;
    for (size_t e = 0; e < order.size(); ++e) {
      order[e] = e;
      sum += std::exp(x[e]);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] > x[b]; });
    double chosen = 0.0;
    for (size_t j = 0; j < static_cast<size_t>(attrs.top_k); ++j) {
      ids[j] = static_cast<double>(order[j]);
      weights[j] = std::exp(x[order[j]]) / sum;
      chosen += weights[j];
    }
    for (size_t j = 0; attrs.normalize && j < static_cast<size_t>(attrs.top_k); ++j) {
      weights[j] /= chosen;
    }
  }

  void ExpertLinear(const Node& node, size_t row, const double* x) {
    const auto& attrs = std::get<ExpertLinearAttrs>(node.attrs);
    const auto top_k = static_cast<size_t>(attrs.top_k);
    const size_t k = attrs.input_per_expert ? Width(node.inputs[0]) / top_k : Width(node.inputs[0]);
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const size_t n = Width(node.outputs[o]) / top_k;
      double* y = &Of(node.outputs[o])[row * top_k * n];
      for (size_t j = 0; j < top_k; ++j) {
        const auto expert = static_cast<size_t>(Of(node.inputs[1])[row * top_k + j]);
        Linear(x + (attrs.input_per_expert ? j * k : 0), k, Weight(node, o), expert * n, n,
               y + j * n);
      }
    }
  }

  const Graph& graph_;
  const std::vector<std::vector<float>>& weights_;
  size_t rows_ = 0;
  std::vector<Matrix> values_;
};

}  // namespace tonnage
