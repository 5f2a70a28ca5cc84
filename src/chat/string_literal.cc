#include "chat/string_literal.h"

#include <unicode/uchar.h>

#include "chat/text.h"

namespace tonnage::chat {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Unescaper {
 public:
  explicit Unescaper(std::string_view body) : body_(body) {}

  Result<std::string> Run() {
    while (pos_ < body_.size()) {
      const std::size_t slash = std::min(body_.find('\\', pos_), body_.size());
      out_.append(body_.substr(pos_, slash - pos_));
      pos_ = slash + 1;
      if (slash + 1 < body_.size()) RETURN_IF_ERROR(Escape());
    }
    return std::move(out_);
  }

 private:
  Status Escape() {
    const char c = body_[pos_++];
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      out_.push_back(kTo[i]);
      return {};
    }
    if (c == '\n') return {};
    if (c == 'x') return Hex(2);
    if (c == 'u') return Hex(4);
    if (c == 'U') return Hex(8);
    if (c == 'N') return Named();
    if (c >= '0' && c <= '7') {
      --pos_;
      char32_t value = 0;
      for (int n = 0; n < 3 && pos_ < body_.size() && body_[pos_] >= '0' && body_[pos_] <= '7';
           ++n) {
        value = value * 8 + static_cast<char32_t>(body_[pos_++] - '0');
      }
      AppendChar(value, &out_);
      return {};
    }
    out_.push_back('\\');
    if (static_cast<unsigned char>(c) < 0x80) {
      out_.push_back(c);
      return {};
    }
    // Jinja escapes such a character before it decodes; after a backslash that escape is what
    // remains.
    --pos_;
    const char32_t wide = DecodeChar(body_, &pos_);
    out_ += wide < 0x100     ? fmt::format("x{:02x}", static_cast<unsigned>(wide))
            : wide < 0x10000 ? fmt::format("u{:04x}", static_cast<unsigned>(wide))
                             : fmt::format("U{:08x}", static_cast<unsigned>(wide));
    return {};
  }

  Status Hex(int digits) {
    char32_t value = 0;
    for (int n = 0; n < digits; ++n) {
      const int digit = pos_ < body_.size() ? HexValue(body_[pos_]) : -1;
      if (digit < 0) return InvalidArgument("a string's \\x, \\u or \\U escape is cut short");
      value = value * 16 + static_cast<char32_t>(digit);
      ++pos_;
    }
    if (value >= 0x110000) return InvalidArgument("a string's \\U escape is no Unicode character");
    if (value >= 0xD800 && value < 0xE000) {
      return InvalidArgument("a string's \\u escape is half of a surrogate pair");
    }
    AppendChar(value, &out_);
    return {};
  }

  Status Named() {
    const std::size_t end = body_.find('}', pos_);
    if (pos_ >= body_.size() || body_[pos_] != '{' || end == std::string_view::npos) {
      return InvalidArgument("a string's \\N escape is malformed");
    }
    const std::string name(body_.substr(pos_ + 1, end - pos_ - 1));
    UErrorCode error = U_ZERO_ERROR;
    const UChar32 c = u_charFromName(U_EXTENDED_CHAR_NAME, name.c_str(), &error);
    if (U_FAILURE(error)) return InvalidArgument("no Unicode character is named '{}'", name);
    AppendChar(static_cast<char32_t>(c), &out_);
    pos_ = end + 1;
    return {};
  }

  const std::string_view body_;
  std::size_t pos_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> UnescapeString(std::string_view body) { return Unescaper(body).Run(); }

}  // namespace tonnage::chat
