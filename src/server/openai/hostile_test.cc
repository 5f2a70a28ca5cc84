// Any bytes give a call or an error in the protocol's shape: seeds with random damage.
#include <gtest/gtest.h>

#include <random>

#include "server/openai/call.h"
#include "server/openai/errors.h"

namespace tonnage::openai {
namespace {

constexpr const char* kSeeds[] = {
    R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"é😀"}]}],"n":2,
        "stop":["a","b"],"logit_bias":{"5":1},"stream":true,"stream_options":{"include_usage":true}})",
    R"({"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function",
        "function":{"name":"f","arguments":"{\"x\":[1]}"}}]},{"role":"tool","tool_call_id":"c",
        "content":"7"}],"temperature":0.5,"seed":7,"logprobs":true,"top_logprobs":3})",
    R"({"model":"m","prompt":["a",[1,2]],"echo":true,"best_of":3,"n":2,"max_tokens":4,"seed":-1})",
    R"({"model":"m","prompt":"x","response_format":{"type":"json_object"},"tools":[{}],"user":"u"})",
};
// What replaces a piece of a seed: values where others are wanted, and bits of syntax.
constexpr const char* kPieces[] = {"null",    "-1",   "1e308", "18446744073709551616",
                                   "true",    "[]",   "{}",    "\"",
                                   ",",       ":",    "[[[[",  "\xff",
                                   "\\u0000", "\"\"", "0.5",   "{\"a\":",
                                   "]",       "}"};

TEST(Hostile, AnyBytesGiveACallOrAnErrorInShape) {
  std::mt19937_64 random(5);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random()) % bound; };
  int calls = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string body = kSeeds[below(std::size(kSeeds))];
    for (std::size_t damage = below(4); damage > 0; --damage) {
      const std::size_t at = below(body.size());
      body.replace(at, below(12), kPieces[below(std::size(kPieces))]);
    }
    const auto call = i % 2 == 0 ? ParseChat(body) : ParseCompletion(body);
    if (call.ok()) {
      ++calls;
      ASSERT_FALSE(call->prompts.empty()) << body;
      ASSERT_LE(call->choices, call->candidates) << body;
      continue;
    }
    const http::Response response = ErrorResponse(call.error());
    ASSERT_EQ(response.status, 400) << body;
    const auto json = ParseJson(response.body);
    ASSERT_TRUE(json.ok()) << response.body;
    ASSERT_FALSE((*json)["error"]["message"].get<std::string>().empty()) << body;
    ASSERT_LT(response.body.size(), 2000u) << body;
  }
  EXPECT_GT(calls, 1000) << "the damage leaves nothing to test";
}

}  // namespace
}  // namespace tonnage::openai
