// Text as Python sees it, over UTF-8: code points, white space, case. All positions are bytes
// unless named `chars`. Ill-formed bytes count as one code point each, so nothing here can fail.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tonnage::chat {

// The code point at `*offset`, which moves past it. U+FFFD for an ill-formed byte.
char32_t DecodeChar(std::string_view text, std::size_t* offset);
void AppendChar(char32_t c, std::string* out);
std::int64_t CountChars(std::string_view text);
// The byte offset of the code point number `chars`, or the end.
std::size_t OffsetOfChar(std::string_view text, std::int64_t chars);
// The offset of the code point that ends before `offset`.
std::size_t PreviousChar(std::string_view text, std::size_t offset);
bool IsAscii(std::string_view text);
std::vector<char32_t> Decode(std::string_view text);

bool IsSpace(char32_t c);      // str.isspace, and \s
bool IsWordChar(char32_t c);   // \w
bool IsPrintable(char32_t c);  // str.isprintable
bool IsLineBreak(char32_t c);  // str.splitlines
bool IsIdentifier(std::string_view text);
bool IsUpper(char32_t c);
bool IsLower(char32_t c);
bool IsTitle(char32_t c);
bool IsAlpha(char32_t c);
bool IsDecimal(char32_t c);
bool IsDigit(char32_t c);
bool IsNumeric(char32_t c);
// The value of a decimal digit of any script, or -1.
int DecimalValue(char32_t c);

std::string_view StripSpace(std::string_view text);
std::string_view StripSpaceLeft(std::string_view text);
std::string_view StripSpaceRight(std::string_view text);

std::string Lower(std::string_view text);
std::string Upper(std::string_view text);
std::string Capitalize(std::string_view text);
std::string Title(std::string_view text);
std::string SwapCase(std::string_view text);
std::string CaseFold(std::string_view text);

}  // namespace tonnage::chat
