// How likely a model finds a text, and how far its predictions are from a reference's. Rows of
// logarithms of probabilities, natural and in float32; sums in float64. One thread.
//
//   perplexity = exp(-mean log p(token))
//   KL(reference || other) = sum over the vocabulary of p_reference * (log p_reference - log
//   p_other)
#pragma once

#include <cstdint>
#include <span>

namespace tonnage::cli {

// Logits [vocab] become log probabilities, in place.
void LogSoftmax(std::span<float> row);

// Of the tokens that were predicted so far.
class Likelihood {
 public:
  // `log_probs` [vocab] said what would come, and `token` came.
  void Add(std::span<const float> log_probs, std::int32_t token);
  std::int64_t tokens() const { return tokens_; }
  double Perplexity() const;

 private:
  double log_prob_ = 0;
  std::int64_t tokens_ = 0;
};

class Divergence {
 public:
  // Two rows [vocab] of the same place in a text.
  void Add(std::span<const float> reference, std::span<const float> other);
  std::int64_t rows() const { return rows_; }
  double Mean() const { return sum_ / static_cast<double>(rows_); }
  double Max() const { return max_; }
  // The part of the rows whose likeliest token is the same.
  double TopSame() const { return static_cast<double>(top_same_) / static_cast<double>(rows_); }

 private:
  double sum_ = 0;
  double max_ = 0;
  std::int64_t top_same_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace tonnage::cli
