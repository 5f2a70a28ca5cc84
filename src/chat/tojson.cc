#include "chat/tojson.h"

#include <algorithm>
#include <cmath>

#include "chat/arguments.h"
#include "chat/iterate.h"
#include "chat/number.h"
#include "chat/operators.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

class JsonWriter {
 public:
  JsonWriter(Renderer& renderer, bool ascii, bool sort_keys)
      : renderer_(renderer), ascii_(ascii), sort_keys_(sort_keys) {}

  bool SetIndent(const Value& indent) {
    if (indent.is_none()) return true;
    pretty_ = true;
    item_separator_ = ",";
    if (indent.is_string()) {
      indent_ = indent.text();
    } else {
      const auto spaces = IntegerArgument(renderer_, indent, "tojson");
      if (!spaces ||
          !renderer_.AllowText(static_cast<std::size_t>(std::max<std::int64_t>(*spaces, 0))))
        return false;
      indent_.assign(static_cast<std::size_t>(std::max<std::int64_t>(*spaces, 0)), ' ');
    }
    return true;
  }

  // A pair: between items, and between a key and its value.
  bool SetSeparators(const Value& separators) {
    if (separators.is_none()) return true;
    ListBuilder pair(renderer_);
    if (!pair.AddAll(separators)) return false;
    if (pair.size() != 2 || !pair.items()[0].is_string() || !pair.items()[1].is_string()) {
      renderer_.Fail("tojson wants two strings as separators");
      return false;
    }
    item_separator_ = pair.items()[0].text();
    key_separator_ = pair.items()[1].text();
    return true;
  }

  bool Write(const Value& value) {
    if (!renderer_.Step() || !renderer_.AllowText(out_.size())) return false;
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "null";
        return true;
      case Kind::kBool:
        out_ += value.boolean() ? "true" : "false";
        return true;
      case Kind::kInt:
        out_ += fmt::format_int(value.integer()).c_str();
        return true;
      case Kind::kFloat:
        out_ += FloatText(value.real());
        return true;
      case Kind::kString:
        return WriteString(value.text());
      case Kind::kList:
      case Kind::kTuple:
        return WriteList(value.items());
      case Kind::kDict:
        return WriteDict(value.dict());
      default:
        renderer_.Fail(fmt::format("a {} is not JSON serializable", TypeName(value)));
        return false;
    }
  }

  const std::string& text() const { return out_; }

 private:
  static std::string FloatText(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return FormatFloat(value);
  }

  void WriteUnit(unsigned unit) { out_ += fmt::format("\\u{:04x}", unit); }

  bool WriteString(std::string_view text) {
    if (!renderer_.StepText(text.size())) return false;
    out_ += '"';
    for (std::size_t i = 0; i < text.size();) {
      const auto c = static_cast<unsigned char>(text[i]);
      static constexpr std::string_view kFrom = "\"\\\n\r\t\b\f";
      static constexpr std::string_view kTo = "\"\\nrtbf";
      if (const std::size_t at = kFrom.find(text[i]); at != kFrom.npos) {
        out_ += '\\';
        out_ += kTo[at];
        ++i;
      } else if (c < 0x20 || (c == 0x7F && ascii_)) {
        WriteUnit(c);
        ++i;
      } else if (c < 0x80 || !ascii_) {
        out_ += text[i++];
      } else {
        const char32_t wide = DecodeChar(text, &i);
        if (wide >= 0x10000) WriteUnit(0xD800 + static_cast<unsigned>((wide - 0x10000) >> 10));
        WriteUnit(wide >= 0x10000 ? 0xDC00 + static_cast<unsigned>((wide - 0x10000) & 0x3FF)
                                  : static_cast<unsigned>(wide));
      }
    }
    out_ += '"';
    return true;
  }

  bool NewLine() {
    if (!pretty_) return true;
    const std::size_t size = indent_.size() * static_cast<std::size_t>(level_);
    if (!renderer_.StepText(size) || !renderer_.AllowText(out_.size() + size)) return false;
    out_ += '\n';
    for (int i = 0; i < level_; ++i) out_ += indent_;
    return true;
  }

  bool WriteList(std::span<const Value> items) {
    if (items.empty()) {
      out_ += "[]";
      return true;
    }
    const Renderer::Depth depth(&renderer_);
    if (!depth.Ok()) return false;
    out_ += '[';
    ++level_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_ += item_separator_;
      if (!NewLine() || !Write(items[i])) return false;
    }
    --level_;
    if (!NewLine()) return false;
    out_ += ']';
    return true;
  }

  bool WriteKey(const Value& key) {
    switch (key.kind()) {
      case Kind::kString:
        return WriteString(key.text());
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kFloat:
        out_ += '"';
        Write(key);
        out_ += '"';
        return !renderer_.failed();
      default:
        renderer_.Fail(fmt::format("a {} is no key of a JSON object", TypeName(key)));
        return false;
    }
  }

  // The numbers of the entries in the order in which they are written.
  bool Order(const Dict& dict, std::vector<std::uint32_t>* order) {
    for (std::uint32_t i = 0; i < dict.size; ++i) order->push_back(i);
    if (!sort_keys_) return true;
    std::stable_sort(order->begin(), order->end(), [&](std::uint32_t a, std::uint32_t b) {
      return Compare(renderer_, Operator::kLess, dict.entries[a].key, dict.entries[b].key) ==
             Truth::kTrue;
    });
    return !renderer_.failed();
  }

  bool WriteDict(const Dict& dict) {
    if (dict.size == 0) {
      out_ += "{}";
      return true;
    }
    const Renderer::Depth depth(&renderer_);
    std::vector<std::uint32_t> order;
    if (!depth.Ok() || !renderer_.Step(dict.size) || !Order(dict, &order)) return false;
    out_ += '{';
    ++level_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i != 0) out_ += item_separator_;
      const Entry& entry = dict.entries[order[i]];
      if (!NewLine() || !WriteKey(entry.key)) return false;
      out_ += key_separator_;
      if (!Write(entry.value)) return false;
    }
    --level_;
    if (!NewLine()) return false;
    out_ += '}';
    return true;
  }

  Renderer& renderer_;
  const bool ascii_;
  const bool sort_keys_;
  bool pretty_ = false;
  std::string indent_;
  std::string item_separator_ = ", ";
  std::string key_separator_ = ": ";
  int level_ = 0;
  std::string out_;
};

}  // namespace

Value ToJson(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<4> p;
  if (!p.Bind(renderer, arguments, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}))
    return Value::Error();
  JsonWriter writer(renderer, IsTrue(p.Or(0, Value::Bool(false))),
                    IsTrue(p.Or(3, Value::Bool(false))));
  if (!writer.SetIndent(p.Or(1, Value::None())) || !writer.SetSeparators(p.Or(2, Value::None())) ||
      !writer.Write(input)) {
    return Value::Error();
  }
  return renderer.Text(writer.text());
}

}  // namespace tonnage::chat
