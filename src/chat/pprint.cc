#include "chat/pprint.h"

#include <algorithm>
#include <vector>

#include "chat/arguments.h"
#include "chat/operators.h"
#include "chat/repr.h"
#include "chat/strings.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

constexpr std::int64_t kWidth = 80;

class PrettyPrinter {
 public:
  explicit PrettyPrinter(Renderer& renderer) : renderer_(renderer) {}

  // `indent` is where the value begins, `allowance` what follows its last line, `level` how deep it
  // lies.
  bool Print(const Value& value, std::int64_t indent, std::int64_t allowance, int level) {
    const Renderer::Depth depth(&renderer_);
    std::string repr;
    if (!depth.Ok() || !renderer_.AllowText(out_.size()) || !Repr(value, &repr)) return false;
    const bool wide = CountChars(repr) > kWidth - indent - allowance;
    if (wide) {
      switch (value.kind()) {
        case Kind::kDict:
          return PrintDict(value.dict(), indent, allowance + 1, level + 1);
        case Kind::kList:
          out_ += '[';
          if (!PrintItems(value.items(), indent + 1, allowance + 1, level + 1)) return false;
          out_ += ']';
          return true;
        case Kind::kTuple: {
          if (value.sequence().group) break;
          const std::string_view end = value.items().size() == 1 ? ",)" : ")";
          out_ += '(';
          if (!PrintItems(value.items(), indent + 1,
                          allowance + static_cast<std::int64_t>(end.size()), level + 1))
            return false;
          out_ += end;
          return true;
        }
        case Kind::kString:
          if (value.string().markup) break;
          return PrintString(value.text(), indent, allowance, level + 1);
        default:
          break;
      }
    }
    out_ += repr;
    return true;
  }

  const std::string& text() const { return out_; }

 private:
  // repr() with the keys of dictionaries in order.
  bool Repr(const Value& value, std::string* out) {
    const Renderer::Depth depth(&renderer_);
    if (!depth.Ok() || !renderer_.Step() || !renderer_.AllowText(out->size())) return false;
    if (value.is(Kind::kDict)) {
      *out += '{';
      bool first = true;
      for (const Entry* entry : Sorted(value.dict())) {
        if (!first) *out += ", ";
        first = false;
        if (!Repr(entry->key, out)) return false;
        *out += ": ";
        if (!Repr(entry->value, out)) return false;
      }
      *out += '}';
      return !renderer_.failed();
    }
    if (!value.is_sequence() || value.sequence().group) return AppendRepr(renderer_, value, out);
    const bool list = value.is(Kind::kList);
    *out += list ? '[' : '(';
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      if (i != 0) *out += ", ";
      if (!Repr(value.items()[i], out)) return false;
    }
    *out += list ? "]" : value.items().size() == 1 ? ",)" : ")";
    return true;
  }

  // By key; keys of types that do not compare, by the names of the types.
  std::vector<const Entry*> Sorted(const Dict& dict) {
    std::vector<const Entry*> entries;
    if (!renderer_.Step(dict.size)) return entries;
    for (std::uint32_t i = 0; i < dict.size; ++i) entries.push_back(&dict.entries[i]);
    std::stable_sort(entries.begin(), entries.end(), [&](const Entry* a, const Entry* b) {
      const bool comparable =
          (a->key.is_string() && b->key.is_string()) || (a->key.is_number() && b->key.is_number());
      if (!comparable) return TypeName(a->key) < TypeName(b->key);
      return Compare(renderer_, Operator::kLess, a->key, b->key) == Truth::kTrue;
    });
    return entries;
  }

  bool NewLine(std::int64_t indent) {
    const auto spaces = static_cast<std::size_t>(indent);
    if (!renderer_.StepText(spaces) || !renderer_.AllowText(out_.size() + spaces)) return false;
    out_ += '\n';
    out_.append(spaces, ' ');
    return true;
  }

  bool PrintItems(std::span<const Value> items, std::int64_t indent, std::int64_t allowance,
                  int level) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool last = i + 1 == items.size();
      if (i != 0) {
        out_ += ',';
        if (!NewLine(indent)) return false;
      }
      if (!Print(items[i], indent, last ? allowance : 1, level)) return false;
    }
    return true;
  }

  bool PrintDict(const Dict& dict, std::int64_t indent, std::int64_t allowance, int level) {
    out_ += '{';
    const std::vector<const Entry*> entries = Sorted(dict);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i != 0) {
        out_ += ',';
        if (!NewLine(indent + 1)) return false;
      }
      std::string key;
      if (!Repr(entries[i]->key, &key)) return false;
      out_ += key + ": ";
      if (!Print(entries[i]->value, indent + 1 + CountChars(key) + 2,
                 i + 1 == entries.size() ? allowance : 1, level))
        return false;
    }
    out_ += '}';
    return !renderer_.failed();
  }

  // A long string breaks after its lines and its white space, into literals that stand side by
  // side.
  bool PrintString(std::string_view text, std::int64_t indent, std::int64_t allowance, int level) {
    if (!renderer_.StepText(text.size() * 16)) return false;
    if (level == 1) {
      ++indent;
      ++allowance;
    }
    const std::int64_t width = kWidth - indent;
    std::vector<std::string> chunks;
    SplitLines(text, true, [&](std::string_view line) {
      const bool last_line = line.data() + line.size() == text.data() + text.size();
      if (Fits(line, last_line ? width - allowance : width)) {
        chunks.push_back(Quoted(line));
      } else {
        BreakLine(line, width, last_line ? allowance : 0, &chunks);
      }
      return renderer_.StepText(line.size());
    });
    if (level == 1 && chunks.size() > 1) out_ += '(';
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (i != 0 && !NewLine(indent)) return false;
      out_ += chunks[i];
    }
    if (level == 1 && chunks.size() > 1) out_ += ')';
    return renderer_.AllowText(out_.size());
  }

  static std::string Quoted(std::string_view text) {
    std::string out;
    AppendQuoted(text, &out);
    return out;
  }
  static bool Fits(std::string_view text, std::int64_t width) {
    return static_cast<std::int64_t>(text.size()) / 4 <= width && CountChars(Quoted(text)) <= width;
  }

  static void BreakLine(std::string_view line, std::int64_t width, std::int64_t allowance,
                        std::vector<std::string>* chunks) {
    std::size_t begin = 0;  // of the chunk being made
    for (std::size_t at = 0; at < line.size();) {
      std::size_t end = at;  // of the next part: a word and the white space after it
      bool in_space = false;
      while (end < line.size()) {
        std::size_t next = end;
        const bool space = IsSpace(DecodeChar(line, &next));
        if (in_space && !space) break;
        in_space = space;
        end = next;
      }
      const std::int64_t room = end == line.size() ? width - allowance : width;
      if (at > begin && !Fits(line.substr(begin, end - begin), room)) {
        chunks->push_back(Quoted(line.substr(begin, at - begin)));
        begin = at;
      }
      at = end;
    }
    chunks->push_back(Quoted(line.substr(begin)));
  }

  Renderer& renderer_;
  std::string out_;
};

}  // namespace

Value PrettyPrint(Renderer& renderer, const Value& input, const Arguments& arguments) {
  PrettyPrinter printer(renderer);
  if (!BindNone(renderer, arguments, "pprint") || !printer.Print(input, 0, 0, 0))
    return Value::Error();
  return renderer.Text(printer.text());
}

}  // namespace tonnage::chat
