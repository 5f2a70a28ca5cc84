#include "chat/globals.h"

#include "chat/arguments.h"
#include "chat/dict.h"
#include "chat/iterate.h"
#include "chat/repr.h"

namespace tonnage::chat {
namespace {

constexpr std::int64_t kLongestRange = 100'000;  // the sandbox's bound

Value MakeRange(Renderer& renderer, const Arguments& arguments) {
  Parameters<3> p;
  if (!p.Bind(renderer, arguments, "range", {"start", "stop", "step"}, 1, 3)) return Value::Error();
  std::int64_t parts[3] = {0, 0, 1};
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    const auto part = IntegerArgument(renderer, p[i], "range");
    if (!part) return Value::Error();
    parts[i] = *part;
  }
  if (arguments.positional.size() == 1) std::swap(parts[0], parts[1]);
  const auto [start, stop, step] = parts;
  if (step == 0) return renderer.Fail("range() wants a step other than 0");
  // The distance fits in 64 unsigned bits whatever the ends are.
  const bool empty = step > 0 ? start >= stop : start <= stop;
  const std::uint64_t distance =
      step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
               : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const std::uint64_t size = empty ? 0 : (distance - 1) / stride + 1;
  if (size > static_cast<std::uint64_t>(kLongestRange)) {
    return renderer.Fail(fmt::format("a range may have at most {} items", kLongestRange));
  }
  return renderer.Make(Kind::kRange, Range{start, stop, step, static_cast<std::int64_t>(size)});
}

// What dict() and namespace() take: a mapping or pairs, then keywords.
bool FillDict(Renderer& renderer, const Arguments& arguments, std::string_view function,
              Dict* dict) {
  if (dict == nullptr) return false;
  if (arguments.positional.size() > 1) {
    renderer.Fail(fmt::format("{}() takes at most one argument", function));
    return false;
  }
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.is_undefined()) {  // asked for its keys, it complains
      renderer.FailUndefined(from);
      return false;
    }
    ListBuilder pairs(renderer);
    const Value source =
        from.is(Kind::kDict)
            ? renderer.Make(Kind::kDictView, DictView{DictView::kItems, &from.dict()})
            : from;
    if (source.is_error() || !pairs.AddAll(source)) return false;
    for (const Value& item : pairs.items()) {
      ListBuilder pair(renderer);
      if (!pair.AddAll(item)) return false;
      if (pair.size() != 2) {
        renderer.Fail(fmt::format("{}() wants pairs", function));
        return false;
      }
      if (!DictSet(renderer, dict, pair.items()[0], pair.items()[1])) return false;
    }
  }
  for (const Keyword& keyword : arguments.keywords) {
    const Value key = renderer.BorrowText(keyword.name);
    if (key.is_error() || !DictSet(renderer, dict, key, keyword.value)) return false;
  }
  return true;
}

Value MakeDict(Renderer& renderer, const Arguments& arguments) {
  Dict* dict = NewDict(renderer, 0);
  return FillDict(renderer, arguments, "dict", dict) ? Value::Of(Kind::kDict, dict)
                                                     : Value::Error();
}

Value MakeNamespace(Renderer& renderer, const Arguments& arguments) {
  Namespace* made = renderer.arena().New<Namespace>(Namespace{});
  if (made == nullptr) return renderer.FailOutOfMemory();
  return FillDict(renderer, arguments, "namespace", &made->attributes)
             ? Value::Of(Kind::kNamespace, made)
             : Value::Error();
}

Value MakeCycler(Renderer& renderer, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.keywords.empty())
    return renderer.Fail("cycler() wants values to cycle through");
  return renderer.Make(Kind::kCycler, Cycler{arguments.positional, 0});
}

Value MakeJoiner(Renderer& renderer, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "joiner", {"sep"})) return Value::Error();
  const Value separator = p[0].is_missing() ? renderer.BorrowText(", ") : p[0];
  return separator.is_error() ? separator : renderer.Make(Kind::kJoiner, Joiner{separator, false});
}

Value RaiseException(Renderer& renderer, const Arguments& arguments) {
  Parameters<1> p;
  std::string message;
  if (!p.Bind(renderer, arguments, "raise_exception", {"message"}, 1) ||
      !AppendText(renderer, p[0], &message))
    return Value::Error();
  return renderer.Fail(std::move(message));
}

Value StrftimeNow(Renderer& renderer, const Arguments& arguments) {
  Parameters<1> p;
  std::string_view format;
  if (!p.Bind(renderer, arguments, "strftime_now", {"format"}, 1) ||
      !TextArgument(renderer, p[0], "strftime_now", &format) ||
      !renderer.StepText(format.size() * 64)) {
    return Value::Error();
  }
  if (format.find('\0') != format.npos) return renderer.Fail("a time's format must not hold a NUL");
  return renderer.Text(FormatLocalTime(renderer.options().now, format));
}

Value Lipsum(Renderer& renderer, const Arguments&) {
  return renderer.Fail("lipsum() is not supported: a prompt must not differ from time to time");
}

constexpr Function kGlobals[] = {
    {"cycler", MakeCycler},       {"dict", MakeDict},
    {"joiner", MakeJoiner},       {"lipsum", Lipsum},
    {"namespace", MakeNamespace}, {"raise_exception", RaiseException},
    {"range", MakeRange},         {"strftime_now", StrftimeNow},
};

}  // namespace

Value FindGlobal(std::string_view name) {
  for (const Function& function : kGlobals) {
    if (function.name == name) return Value::Of(Kind::kFunction, &function);
  }
  return Value();
}

}  // namespace tonnage::chat
