// Log probabilities as OpenAI's two protocols write them. Tokens that are no valid UTF-8 by
// themselves are spelled as OpenAI does, "\xe2\x82" in place of their bytes. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "service/generate.h"
#include "tokenizer/tokenizer.h"

namespace tonnage::openai {

// {"content": [{"token", "logprob", "bytes", "top_logprobs"}], "refusal": null}
void AppendChatLogprobs(const Tokenizer& tokenizer, std::span<const TokenDetail> tokens,
                        std::string& out);

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}, an array each. `offset`, in
// characters, is where the first token begins, and becomes where the next will.
void AppendCompletionLogprobs(const Tokenizer& tokenizer, std::span<const TokenDetail> tokens,
                              std::int64_t& offset, std::string& out);

}  // namespace tonnage::openai
