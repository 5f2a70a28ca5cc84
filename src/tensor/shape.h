// The extents of a tensor, outermost first, held in place. At most four dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/check.h"

namespace tonnage {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) {
    for (std::int64_t extent : extents) Append(extent);
  }

  void Append(std::int64_t extent) {
    CHECK_LT(rank_, kMaxRank);
    extents_[static_cast<size_t>(rank_++)] = extent;
  }
  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return extents_[static_cast<size_t>(i)]; }
  // The number of elements. Callers that read extents from outside check them for overflow first.
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= extents_[static_cast<size_t>(i)];
    return product;
  }
  bool operator==(const Shape&) const = default;
  // "[4096, 14336]".
  std::string ToString() const {
    std::string text = "[";
    for (int i = 0; i < rank_; ++i) {
      if (i > 0) text += ", ";
      text += std::to_string(extents_[static_cast<size_t>(i)]);
    }
    return text + "]";
  }

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace tonnage
