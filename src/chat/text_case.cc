// Case as Python's str maps it: full mappings, one code point at a time, and the final form of
// sigma.
#include <unicode/uchar.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "chat/text.h"

namespace tonnage::chat {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kSmallSigma = 0x3C3;
constexpr char32_t kFinalSigma = 0x3C2;

enum class Mapping { kLower, kUpper, kTitle, kFold };

// The full mapping of one code point, which may be several.
void AppendMapped(char32_t c, Mapping mapping, std::string* out) {
  if (mapping ==
      Mapping::kTitle) {  // nearly all have a simple one, and the full one makes a break iterator
    const auto simple = static_cast<char32_t>(u_totitle(static_cast<UChar32>(c)));
    if (simple != c || !IsLower(c)) return AppendChar(simple, out);
  }
  UChar source[2];
  UChar target[16];
  int32_t length = 0;
  U16_APPEND_UNSAFE(source, length, static_cast<UChar32>(c));
  UErrorCode error = U_ZERO_ERROR;
  int32_t mapped = 0;
  switch (mapping) {
    case Mapping::kLower:
      mapped = u_strToLower(target, 16, source, length, "", &error);
      break;
    case Mapping::kUpper:
      mapped = u_strToUpper(target, 16, source, length, "", &error);
      break;
    case Mapping::kTitle:
      mapped = u_strToTitle(target, 16, source, length, nullptr, "", &error);
      break;
    case Mapping::kFold:
      mapped = u_strFoldCase(target, 16, source, length, U_FOLD_CASE_DEFAULT, &error);
      break;
  }
  if (U_FAILURE(error)) return AppendChar(c, out);
  for (int32_t i = 0; i < mapped;) {
    UChar32 m;
    U16_NEXT(target, i, mapped, m);
    AppendChar(static_cast<char32_t>(m), out);
  }
}

bool IsCased(char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_CASED); }
bool IsCaseIgnorable(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_CASE_IGNORABLE);
}

// Sigma is final after a cased letter and not before one, case-ignorable characters in between left
// aside.
bool IsFinalSigma(const std::vector<char32_t>& text, std::size_t i) {
  std::size_t before = i;
  while (before > 0 && IsCaseIgnorable(text[before - 1])) --before;
  if (before == 0 || !IsCased(text[before - 1])) return false;
  std::size_t after = i + 1;
  while (after < text.size() && IsCaseIgnorable(text[after])) ++after;
  return after == text.size() || !IsCased(text[after]);
}

void AppendLower(const std::vector<char32_t>& text, std::size_t i, std::string* out) {
  if (text[i] == kCapitalSigma) {
    AppendChar(IsFinalSigma(text, i) ? kFinalSigma : kSmallSigma, out);
  } else {
    AppendMapped(text[i], Mapping::kLower, out);
  }
}

char AsciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
char AsciiUpper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::string Lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (IsAscii(text)) {
    for (const char c : text) out.push_back(AsciiLower(c));
    return out;
  }
  const std::vector<char32_t> chars = Decode(text);
  for (std::size_t i = 0; i < chars.size(); ++i) AppendLower(chars, i, &out);
  return out;
}

std::string Upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (IsAscii(text)) {
    for (const char c : text) out.push_back(AsciiUpper(c));
    return out;
  }
  for (const char32_t c : Decode(text)) AppendMapped(c, Mapping::kUpper, &out);
  return out;
}

std::string Capitalize(std::string_view text) {
  const std::vector<char32_t> chars = Decode(text);
  std::string out;
  for (std::size_t i = 0; i < chars.size(); ++i) {
    if (i == 0) {
      AppendMapped(chars[i], Mapping::kTitle, &out);
    } else {
      AppendLower(chars, i, &out);
    }
  }
  return out;
}

std::string Title(std::string_view text) {
  std::string out;
  bool after_cased = false;
  if (IsAscii(text)) {
    for (const char c : text) {
      out.push_back(after_cased ? AsciiLower(c) : AsciiUpper(c));
      after_cased = IsAsciiLetter(c);
    }
    return out;
  }
  const std::vector<char32_t> chars = Decode(text);
  for (std::size_t i = 0; i < chars.size(); ++i) {
    if (after_cased) {
      AppendLower(chars, i, &out);
    } else {
      AppendMapped(chars[i], Mapping::kTitle, &out);
    }
    after_cased = IsCased(chars[i]);
  }
  return out;
}

std::string SwapCase(std::string_view text) {
  const std::vector<char32_t> chars = Decode(text);
  std::string out;
  for (std::size_t i = 0; i < chars.size(); ++i) {
    if (IsUpper(chars[i])) {
      AppendLower(chars, i, &out);
    } else if (IsLower(chars[i])) {
      AppendMapped(chars[i], Mapping::kUpper, &out);
    } else {
      AppendChar(chars[i], &out);
    }
  }
  return out;
}

std::string CaseFold(std::string_view text) {
  std::string out;
  for (const char32_t c : Decode(text)) AppendMapped(c, Mapping::kFold, &out);
  return out;
}

}  // namespace tonnage::chat
