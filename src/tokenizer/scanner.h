// Matchers written by hand for the expressions that most tokenizers split by: the same matches as
// the expression gives, at several times the speed. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tonnage {

// The end of the match that starts exactly at `pos`, or `pos` where none does. The text is valid
// UTF-8, `pos` inside it and at the start of a character.
using Scanner = std::size_t (*)(std::string_view text, std::size_t pos);

struct KnownExpression {
  std::string_view name;   // of the tokenizer it became known by
  std::string_view regex;  // exactly as files have it
  Scanner scanner;
};
std::span<const KnownExpression> KnownExpressions();

// GPT-2's expression, which the ByteLevel pre-tokenizer brings along.
inline constexpr std::string_view kGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Nothing where the expression is not a known one.
Scanner FindScanner(std::string_view regex);

}  // namespace tonnage
