#include "chat/strings.h"

#include <algorithm>

#include "chat/text.h"

namespace tonnage::chat {
namespace {

template <typename Is>
bool All(std::string_view text, Is&& is) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is(DecodeChar(text, &i))) return false;
  }
  return !text.empty();
}

bool Among(std::string_view set, char32_t c) {
  for (std::size_t i = 0; i < set.size();) {
    if (DecodeChar(set, &i) == c) return true;
  }
  return false;
}

}  // namespace

std::string_view Strip(std::string_view text, const String* chars, bool left, bool right) {
  if (chars == nullptr) {
    if (left) text = StripSpaceLeft(text);
    return right ? StripSpaceRight(text) : text;
  }
  while (left && !text.empty()) {
    std::size_t next = 0;
    if (!Among(chars->view(), DecodeChar(text, &next))) break;
    text.remove_prefix(next);
  }
  while (right && !text.empty()) {
    const std::size_t last = PreviousChar(text, text.size());
    std::size_t next = last;
    if (!Among(chars->view(), DecodeChar(text, &next))) break;
    text = text.substr(0, last);
  }
  return text;
}

void Split(std::string_view text, std::string_view separator, std::int64_t limit,
           const EmitPart& emit) {
  for (; limit != 0; --limit) {
    const std::size_t at = text.find(separator);
    if (at == text.npos) break;
    if (!emit(text.substr(0, at))) return;
    text.remove_prefix(at + separator.size());
  }
  emit(text);
}

void SplitRight(std::string_view text, std::string_view separator, std::int64_t limit,
                const EmitPart& emit) {
  for (; limit != 0; --limit) {
    const std::size_t at = text.rfind(separator);
    if (at == text.npos) break;
    if (!emit(text.substr(at + separator.size()))) return;
    text = text.substr(0, at);
  }
  emit(text);
}

void SplitSpace(std::string_view text, std::int64_t limit, const EmitPart& emit) {
  text = StripSpaceLeft(text);
  while (!text.empty()) {
    if (limit-- == 0) {
      emit(text);  // with the white space at its end
      return;
    }
    std::size_t end = 0;
    for (std::size_t i = 0; i < text.size(); end = i) {
      if (IsSpace(DecodeChar(text, &i))) break;
    }
    if (!emit(text.substr(0, end))) return;
    text = StripSpaceLeft(text.substr(end));
  }
}

void SplitSpaceRight(std::string_view text, std::int64_t limit, const EmitPart& emit) {
  text = StripSpaceRight(text);
  while (!text.empty()) {
    if (limit-- == 0) {
      emit(text);  // with the white space at its beginning
      return;
    }
    std::size_t begin = text.size();
    while (begin > 0) {
      const std::size_t previous = PreviousChar(text, begin);
      std::size_t next = previous;
      if (IsSpace(DecodeChar(text, &next))) break;
      begin = previous;
    }
    if (!emit(text.substr(begin))) return;
    text = StripSpaceRight(text.substr(0, begin));
  }
}

void SplitLines(std::string_view text, bool keep_ends, const EmitPart& emit) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = i;
    const char32_t c = DecodeChar(text, &i);
    if (!IsLineBreak(c)) continue;
    if (c == '\r' && i < text.size() && text[i] == '\n') ++i;
    if (!emit(text.substr(begin, (keep_ends ? i : end) - begin))) return;
    begin = i;
  }
  if (begin < text.size()) emit(text.substr(begin));
}

Value Replace(Renderer& renderer, std::string_view text, std::string_view from, std::string_view to,
              std::int64_t limit, bool markup) {
  if (!renderer.StepText(text.size())) return Value::Error();
  std::string out;
  std::size_t pos = 0;
  // An empty text is found before every character and at the end.
  for (; limit != 0; --limit) {
    const std::size_t at = from.empty() ? pos : text.find(from, pos);
    if (at == text.npos) break;
    out += text.substr(pos, at - pos);
    out += to;
    if (!renderer.StepText(to.size()) || !renderer.AllowText(out.size())) return Value::Error();
    pos = at + from.size();
    if (from.empty()) {
      if (pos == text.size()) break;
      std::size_t next = pos;
      DecodeChar(text, &next);
      out += text.substr(pos, next - pos);
      pos = next;
    }
  }
  out += text.substr(pos);
  return renderer.Text(out, markup);
}

Value Justify(Renderer& renderer, const Value& text, std::int64_t width, std::string_view fill,
              char align) {
  const std::int64_t chars = renderer.Chars(text);
  if (width <= chars) return text;
  const std::int64_t padding = width - chars;
  // Python's center puts the odd one on the left when the width is odd.
  const std::int64_t left = align == '>'   ? padding
                            : align == '^' ? padding / 2 + (padding & width & 1)
                                           : 0;
  const auto size = static_cast<std::size_t>(padding);
  if (size > (std::size_t{1} << 40) ||
      !renderer.AllowText(text.text().size() + size * fill.size())) {
    return renderer.FailOutOfMemory();
  }
  std::string out;
  for (std::int64_t i = 0; i < left; ++i) out += fill;
  out += text.text();
  for (std::int64_t i = left; i < padding; ++i) out += fill;
  return renderer.Text(out, text.string().markup);
}

bool IsAlnumText(std::string_view text) {
  return All(text,
             [](char32_t c) { return IsAlpha(c) || IsDecimal(c) || IsDigit(c) || IsNumeric(c); });
}
bool IsAlphaText(std::string_view text) { return All(text, IsAlpha); }
bool IsDecimalText(std::string_view text) { return All(text, IsDecimal); }
bool IsDigitText(std::string_view text) { return All(text, IsDigit); }
bool IsNumericText(std::string_view text) { return All(text, IsNumeric); }
bool IsSpaceText(std::string_view text) { return All(text, IsSpace); }
bool IsPrintableText(std::string_view text) { return text.empty() || All(text, IsPrintable); }

bool IsLowerText(std::string_view text) {
  bool cased = false;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = DecodeChar(text, &i);
    if (IsUpper(c) || IsTitle(c)) return false;
    cased = cased || IsLower(c);
  }
  return cased;
}

bool IsUpperText(std::string_view text) {
  bool cased = false;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = DecodeChar(text, &i);
    if (IsLower(c) || IsTitle(c)) return false;
    cased = cased || IsUpper(c);
  }
  return cased;
}

bool IsTitleText(std::string_view text) {
  bool cased = false;
  bool after_cased = false;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = DecodeChar(text, &i);
    if (IsUpper(c) || IsTitle(c)) {
      if (after_cased) return false;
      after_cased = cased = true;
    } else if (IsLower(c)) {
      if (!after_cased) return false;
      cased = true;
    } else {
      after_cased = false;
    }
  }
  return cased;
}

}  // namespace tonnage::chat
