#include "chat/markup.h"

#include <array>

#include "chat/repr.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

struct Entity {
  std::string_view name;  // with its semicolon; HTML takes some without it
  std::string_view text;
  bool bare;
};

// The entities that occur in practice. HTML5 names two thousand more.
constexpr std::array kEntities = {
    Entity{"amp;", "&", true},          Entity{"lt;", "<", true},
    Entity{"gt;", ">", true},           Entity{"quot;", "\"", true},
    Entity{"apos;", "'", false},        Entity{"nbsp;", "\u00a0", true},
    Entity{"copy;", "\u00a9", true},    Entity{"reg;", "\u00ae", true},
    Entity{"laquo;", "\u00ab", true},   Entity{"raquo;", "\u00bb", true},
    Entity{"middot;", "\u00b7", true},  Entity{"times;", "\u00d7", true},
    Entity{"deg;", "\u00b0", true},     Entity{"sect;", "\u00a7", true},
    Entity{"para;", "\u00b6", true},    Entity{"euro;", "\u20ac", false},
    Entity{"hellip;", "\u2026", false}, Entity{"mdash;", "\u2014", false},
    Entity{"ndash;", "\u2013", false},  Entity{"lsquo;", "\u2018", false},
    Entity{"rsquo;", "\u2019", false},  Entity{"ldquo;", "\u201c", false},
    Entity{"rdquo;", "\u201d", false},  Entity{"bull;", "\u2022", false},
    Entity{"trade;", "\u2122", false},  Entity{"larr;", "\u2190", false},
    Entity{"rarr;", "\u2192", false},
};

// "&#123;" or "&#x1f;" at `at`; the length taken, 0 when it is none.
std::size_t NumericEntity(std::string_view html, std::size_t at, std::string* out) {
  std::size_t i = at + 2;
  const bool hex = i < html.size() && (html[i] == 'x' || html[i] == 'X');
  if (hex) ++i;
  const std::size_t begin = i;
  std::uint32_t value = 0;
  for (; i < html.size(); ++i) {
    const char c = html[i];
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (hex && (c | 0x20) >= 'a' && (c | 0x20) <= 'f') digit = (c | 0x20) - 'a' + 10;
    if (digit < 0) break;
    value = std::min<std::uint32_t>(value * (hex ? 16 : 10) + static_cast<std::uint32_t>(digit),
                                    0x110000);
  }
  if (i == begin) return 0;
  if (i < html.size() && html[i] == ';') ++i;
  AppendChar(value == 0 ? 0xFFFD : value, out);
  return i - at;
}

std::size_t NamedEntity(std::string_view html, std::size_t at, std::string* out) {
  const std::string_view rest = html.substr(at + 1);
  for (const Entity& entity : kEntities) {
    std::string_view name = entity.name;
    if (!rest.starts_with(name)) {
      name.remove_suffix(1);
      if (!entity.bare || !rest.starts_with(name)) continue;
    }
    *out += entity.text;
    return name.size() + 1;
  }
  return 0;
}

}  // namespace

void AppendEscaped(std::string_view text, std::string* out) {
  for (const char c : text) {
    switch (c) {
      case '&':
        *out += "&amp;";
        break;
      case '<':
        *out += "&lt;";
        break;
      case '>':
        *out += "&gt;";
        break;
      case '\'':
        *out += "&#39;";
        break;
      case '"':
        *out += "&#34;";
        break;
      default:
        *out += c;
    }
  }
}

std::string Unescaped(std::string_view html) {
  std::string out;
  for (std::size_t i = 0; i < html.size();) {
    std::size_t taken = 0;
    if (html[i] == '&') {
      taken = i + 1 < html.size() && html[i + 1] == '#' ? NumericEntity(html, i, &out)
                                                        : NamedEntity(html, i, &out);
    }
    if (taken == 0) {
      out += html[i];
      taken = 1;
    }
    i += taken;
  }
  return out;
}

Value Escape(Renderer& renderer, const Value& value) {
  if (value.is_string() && value.string().markup) return value;
  const Value text = ToText(renderer, value);
  if (text.is_error()) return text;
  std::string escaped;
  AppendEscaped(text.text(), &escaped);
  return renderer.Text(escaped, true);
}

std::string StripTags(std::string_view html) {
  std::string kept;
  std::size_t pos = 0;
  while (true) {
    const std::size_t start = html.find('<', pos);
    if (start == html.npos) break;
    const bool comment = html.substr(start).starts_with("<!--");
    const std::size_t end = comment ? html.find("-->", start + 4) : html.find('>', start);
    if (end == html.npos) break;
    kept += html.substr(pos, start - pos);
    pos = end + (comment ? 3 : 1);
  }
  kept += html.substr(pos);
  std::string collapsed;
  bool space = false;
  for (std::size_t i = 0; i < kept.size();) {
    const std::size_t begin = i;
    if (IsSpace(DecodeChar(kept, &i))) {
      space = !collapsed.empty();
      continue;
    }
    if (space) collapsed += ' ';
    space = false;
    collapsed.append(kept, begin, i - begin);
  }
  return Unescaped(collapsed);
}

}  // namespace tonnage::chat
