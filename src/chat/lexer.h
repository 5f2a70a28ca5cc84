// Splits a template's source into tokens, with Jinja's white-space control (trim_blocks and
// lstrip_blocks on) applied. The tokens' text borrows the source or the arena.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/arena.h"

namespace tonnage::chat {

struct Position {
  std::int32_t line = 1;
  std::int32_t column = 1;  // in bytes
};

enum class TokenKind : std::uint8_t {
  kData,
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  Position position;
  std::string_view text;  // data, name, operator, or a string's value
  std::int64_t integer = 0;
  double number = 0;
};

// `source` has only \n for newlines (NormalizeNewlines). The last token is kEnd.
Result<std::vector<Token>> Tokenize(std::string_view source, Arena* arena);

// \r\n and \r become \n, and one newline at the end goes.
std::string NormalizeNewlines(std::string_view source);

// "line 3, column 7: message".
Error ErrorAt(Position position, std::string_view message);

}  // namespace tonnage::chat
