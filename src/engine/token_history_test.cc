#include "engine/token_history.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/random.h"

namespace tonnage {
namespace {

TEST(TokenHistory, EqualsCountingTheWindowAfresh) {
  Random random(5);
  for (std::int64_t window : {-1, 0, 1, 3, 16, 1000}) {
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(static_cast<std::int32_t>(random.Next() % 9));
    const size_t prompt = tokens.size();
    TokenHistory history(tokens, 100, window);
    for (int i = 0; i < 100; ++i) {
      tokens.push_back(static_cast<std::int32_t>(random.Next() % 9) * 65536);
      history.Append(tokens.back());
      std::map<std::int32_t, std::pair<int, int>> expected, found;
      const size_t seen =
          window < 0 ? tokens.size() : std::min(tokens.size(), static_cast<size_t>(window));
      for (size_t at = tokens.size() - seen; at < tokens.size(); ++at) {
        ++expected[tokens[at]].first;
        if (at >= prompt) ++expected[tokens[at]].second;
      }
      for (const TokenHistory::Count& count : history.counts()) {
        if (count.in_window > 0) found[count.token] = {count.in_window, count.generated};
      }
      ASSERT_EQ(found, expected) << "window " << window << " after " << i;
    }
  }
}

}  // namespace
}  // namespace tonnage
