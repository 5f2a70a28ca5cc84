#include "server/openai/logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tokenizer/token_bytes.h"
#include "tokenizer/utf8.h"

namespace tonnage::openai {
namespace {

// JSON has no infinity; this is what OpenAI writes for a token that cannot come.
constexpr float kImpossible = -9999;

float Finite(float logprob) { return logprob >= kImpossible ? logprob : kImpossible; }

// The bytes as text, or each spelled out where they are none.
std::string Spelled(std::string_view bytes, std::string_view prefix) {
  if (ValidUtf8Prefix(bytes) == bytes.size()) return std::string(bytes);
  std::string text(prefix);
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(text), "\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

// {"token", "logprob", "bytes"}, left open for more.
void AppendOpenToken(const Tokenizer& tokenizer, TokenId id, float logprob, std::string& out) {
  const std::string bytes = TokenBytes(tokenizer, id);
  fmt::format_to(std::back_inserter(out), R"({{"token":{},"logprob":{},"bytes":[)",
                 DumpJson(Spelled(bytes, "")), Finite(logprob));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i > 0 ? "," : "",
                   static_cast<unsigned char>(bytes[i]));
  }
  out += ']';
}

// {"a": -0.1, ...} with each spelling once: of several tokens that look the same, the likeliest.
Json TopByText(const Tokenizer& tokenizer, const TokenDetail& chosen) {
  Json top = Json::object();
  const auto add = [&](TokenId id, float logprob) {
    top.emplace(Spelled(TokenBytes(tokenizer, id), "bytes:"), Finite(logprob));
  };
  for (const TokenLogprob& other : chosen.top) add(other.token, other.logprob);
  add(chosen.token, chosen.logprob);
  return top;
}

// Bytes that begin a character, so that halves of one count once.
std::int64_t CountBegun(std::string_view bytes) {
  return std::count_if(bytes.begin(), bytes.end(),
                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

}  // namespace

void AppendChatLogprobs(const Tokenizer& tokenizer, std::span<const TokenDetail> tokens,
                        std::string& out) {
  out += R"({"content":[)";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += ',';
    AppendOpenToken(tokenizer, tokens[i].token, tokens[i].logprob, out);
    out += R"(,"top_logprobs":[)";
    for (std::size_t k = 0; k < tokens[i].top.size(); ++k) {
      if (k > 0) out += ',';
      AppendOpenToken(tokenizer, tokens[i].top[k].token, tokens[i].top[k].logprob, out);
      out += '}';
    }
    out += "]}";
  }
  out += R"(],"refusal":null})";
}

void AppendCompletionLogprobs(const Tokenizer& tokenizer, std::span<const TokenDetail> tokens,
                              std::int64_t& offset, std::string& out) {
  Json columns = {{"tokens", Json::array()},
                  {"token_logprobs", Json::array()},
                  {"top_logprobs", Json::array()},
                  {"text_offset", Json::array()}};
  for (const TokenDetail& token : tokens) {
    const std::string bytes = TokenBytes(tokenizer, token.token);
    columns["tokens"].push_back(Spelled(bytes, "bytes:"));
    columns["token_logprobs"].push_back(Finite(token.logprob));
    columns["top_logprobs"].push_back(TopByText(tokenizer, token));
    columns["text_offset"].push_back(offset);
    offset += CountBegun(bytes);
  }
  out += DumpJson(columns);
}

}  // namespace tonnage::openai
