#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "kernels/moe/moe.h"
#include "kernels/testing.h"

namespace tonnage {
namespace {

struct Routes {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

Routes RouteWith(decltype(MoeKernel::route) route, const std::vector<float>& logits,
                 std::int64_t experts, std::int64_t top_k, bool normalize) {
  const auto rows = static_cast<std::int64_t>(logits.size()) / experts;
  Routes routes{std::vector<std::int32_t>(static_cast<size_t>(rows * top_k)),
                std::vector<float>(static_cast<size_t>(rows * top_k))};
  route({.logits = logits.data(),
         .ids = routes.ids.data(),
         .weights = routes.weights.data(),
         .experts = experts,
         .top_k = top_k,
         .normalize = normalize},
        0, rows);
  return routes;
}

TEST(Route, EveryVariantMatchesTheReference) {
  for (const MoeKernel& kernel : RunnableKernels(MoeKernels())) {
    for (const auto& [experts, top_k] :
         {std::pair{1, 1}, {5, 5}, {8, 2}, {33, 4}, {64, 8}, {128, 8}}) {
      for (const bool normalize : {false, true}) {
        SCOPED_TRACE(std::string(kernel.name) + ", experts " + std::to_string(experts));
        const auto logits = RandomFloats(20 * experts, 1, 2.0f);
        const Routes expected = RouteWith(reference::Route, logits, experts, top_k, normalize);
        const Routes routes = RouteWith(kernel.route, logits, experts, top_k, normalize);
        EXPECT_EQ(routes.ids, expected.ids);
        for (size_t i = 0; i < routes.weights.size(); ++i) {
          ASSERT_NEAR(routes.weights[i], expected.weights[i], 1e-6f * expected.weights[i]);
        }
      }
    }
  }
}

TEST(Route, TiesGoToTheLowerId) {
  const std::vector<float> logits = {1, 3, 2, 3, 2, 3, 0, 2};
  for (const MoeKernel& kernel : RunnableKernels(MoeKernels())) {
    EXPECT_EQ(RouteWith(kernel.route, logits, 8, 5, true).ids,
              (std::vector<std::int32_t>{1, 3, 5, 2, 4}))
        << kernel.name;
  }
}

TEST(Route, GivesDistinctExpertsEvenWithoutNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& logits :
       {std::vector<float>(8, nan),
        {nan, 1, nan, 2, 3, nan, nan, 0},
        {1, 2, nan, 3, 4, 5, 6, nan},
        {infinity, -infinity, infinity, nan, -infinity, 1, 2, 3}}) {
    for (const MoeKernel& kernel : RunnableKernels(MoeKernels())) {
      const Routes routes = RouteWith(kernel.route, logits, 8, 4, true);
      const std::set<std::int32_t> ids(routes.ids.begin(), routes.ids.end());
      EXPECT_EQ(ids.size(), 4u) << kernel.name;
      EXPECT_TRUE(*ids.begin() >= 0 && *ids.rbegin() < 8) << kernel.name;
    }
  }
}

TEST(ExpertSum, EveryVariantMatchesTheReference) {
  constexpr std::int64_t kRows = 3, kTopK = 4;
  for (const MoeKernel& kernel : RunnableKernels(MoeKernels())) {
    for (const std::int64_t width : {1, 15, 16, 50, 512}) {
      const auto x = RandomFloats(kRows * kTopK * width, 1);
      const auto weights = RandomFloats(kRows * kTopK, 2);
      std::vector<float> y(static_cast<size_t>(kRows * width)), expected(y.size());
      ExpertSumArgs args{.x = x.data(),
                         .weights = weights.data(),
                         .y = expected.data(),
                         .top_k = kTopK,
                         .width = width};
      reference::ExpertSum(args, 0, kRows);
      args.y = y.data();
      for (std::int64_t row = 0; row < kRows; ++row) kernel.expert_sum(args, row, row + 1);
      for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 2e-6f) << kernel.name;
    }
  }
}

}  // namespace
}  // namespace tonnage
