#include "chat/text.h"

#include <unicode/uchar.h>

#include <algorithm>

namespace tonnage::chat {
namespace {

unsigned char Byte(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The length of the well-formed sequence at `i`, or 0.
int SequenceLength(std::string_view text, std::size_t i) {
  const unsigned char lead = Byte(text, i);
  if (lead < 0x80) return 1;
  const int length = lead >= 0xF5 ? 0 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (int k = 1; k < length; ++k) {
    if ((Byte(text, i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = Byte(text, i + 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

}  // namespace

char32_t DecodeChar(std::string_view text, std::size_t* offset) {
  const std::size_t i = *offset;
  const int length = SequenceLength(text, i);
  *offset = i + std::max(length, 1);
  switch (length) {
    case 1:
      return Byte(text, i);
    case 2:
      return (Byte(text, i) & 0x1Fu) << 6 | (Byte(text, i + 1) & 0x3Fu);
    case 3:
      return (Byte(text, i) & 0x0Fu) << 12 | (Byte(text, i + 1) & 0x3Fu) << 6 |
             (Byte(text, i + 2) & 0x3Fu);
    case 4:
      return (Byte(text, i) & 0x07u) << 18 | (Byte(text, i + 1) & 0x3Fu) << 12 |
             (Byte(text, i + 2) & 0x3Fu) << 6 | (Byte(text, i + 3) & 0x3Fu);
    default:
      return 0xFFFD;
  }
}

void AppendChar(char32_t c, std::string* out) {
  if (c >= 0x110000 || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | c >> 6));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | c >> 12));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | c >> 18));
    out->push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

bool IsAscii(std::string_view text) {
  unsigned char any = 0;
  for (const char c : text) any |= static_cast<unsigned char>(c);
  return any < 0x80;
}

std::int64_t CountChars(std::string_view text) {
  if (IsAscii(text)) return static_cast<std::int64_t>(text.size());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++count) i += std::max(SequenceLength(text, i), 1);
  return count;
}

std::size_t OffsetOfChar(std::string_view text, std::int64_t chars) {
  std::size_t i = 0;
  for (; chars > 0 && i < text.size(); --chars) i += std::max(SequenceLength(text, i), 1);
  return i;
}

std::size_t PreviousChar(std::string_view text, std::size_t offset) {
  for (std::size_t back = 1; back <= 4 && back <= offset; ++back) {
    const std::size_t i = offset - back;
    if ((Byte(text, i) & 0xC0) != 0x80) {
      return static_cast<std::size_t>(SequenceLength(text, i)) == back ? i : offset - 1;
    }
  }
  return offset - 1;
}

std::vector<char32_t> Decode(std::string_view text) {
  std::vector<char32_t> result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) result.push_back(DecodeChar(text, &i));
  return result;
}

bool IsSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
  switch (c) {
    case 0x85:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000:
      return true;
    default:
      return c >= 0x2000 && c <= 0x200A;
  }
}

bool IsLineBreak(char32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool IsAlpha(char32_t c) { return u_isalpha(static_cast<UChar32>(c)); }
bool IsDecimal(char32_t c) { return u_charType(static_cast<UChar32>(c)) == U_DECIMAL_DIGIT_NUMBER; }
bool IsDigit(char32_t c) {
  const int type = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}
bool IsNumeric(char32_t c) {
  return u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}
int DecimalValue(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9' ? static_cast<int>(c - '0') : -1;
  return IsDecimal(c) ? u_charDigitValue(static_cast<UChar32>(c)) : -1;
}
bool IsWordChar(char32_t c) {
  if (c < 0x80) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  return IsAlpha(c) || IsNumeric(c);
}

bool IsPrintable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (u_charType(static_cast<UChar32>(c))) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_SURROGATE:
    case U_PRIVATE_USE_CHAR:
    case U_UNASSIGNED:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
    case U_SPACE_SEPARATOR:
      return false;
    default:
      return true;
  }
}

bool IsIdentifier(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const bool first = i == 0;
    const char32_t c = DecodeChar(text, &i);
    const bool good =
        c == '_' || (first ? u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_XID_START)
                           : u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_XID_CONTINUE));
    if (!good) return false;
  }
  return !text.empty();
}

bool IsUpper(char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_UPPERCASE); }
bool IsLower(char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_LOWERCASE); }
bool IsTitle(char32_t c) { return u_charType(static_cast<UChar32>(c)) == U_TITLECASE_LETTER; }

std::string_view StripSpaceLeft(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); begin = i) {
    if (!IsSpace(DecodeChar(text, &i))) break;
  }
  return text.substr(begin);
}

std::string_view StripSpaceRight(std::string_view text) {
  while (!text.empty()) {
    const std::size_t last = PreviousChar(text, text.size());
    std::size_t i = last;
    if (!IsSpace(DecodeChar(text, &i))) break;
    text = text.substr(0, last);
  }
  return text;
}

std::string_view StripSpace(std::string_view text) { return StripSpaceRight(StripSpaceLeft(text)); }

}  // namespace tonnage::chat
