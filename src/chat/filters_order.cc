// Filters that compare items: sort, unique, min, groupby and their like.
#include <algorithm>

#include "chat/arguments.h"
#include "chat/attribute_path.h"
#include "chat/dict.h"
#include "chat/filters.h"
#include "chat/iterate.h"
#include "chat/operators.h"
#include "chat/strings.h"

namespace tonnage::chat {
namespace {

struct Keyed {
  Value key;
  Value item;
};

// A stable merge sort that may fail and that no inconsistent order (NaN) can lead astray.
bool SortRange(Renderer& renderer, Keyed* items, Keyed* scratch, std::size_t size, bool reverse) {
  if (size < 2) return true;
  const std::size_t half = size / 2;
  if (!SortRange(renderer, items, scratch, half, reverse) ||
      !SortRange(renderer, items + half, scratch, size - half, reverse)) {
    return false;
  }
  std::copy(items, items + size, scratch);
  std::size_t a = 0;
  std::size_t b = half;
  for (std::size_t i = 0; i < size; ++i) {
    bool take_b = a == half;
    if (!take_b && b < size) {
      const Truth before =
          Compare(renderer, Operator::kLess, reverse ? scratch[a].key : scratch[b].key,
                  reverse ? scratch[b].key : scratch[a].key);
      if (before == Truth::kFailed) return false;
      take_b = before == Truth::kTrue;
    }
    items[i] = take_b ? scratch[b++] : scratch[a++];
  }
  return true;
}

bool Sort(Renderer& renderer, std::span<Keyed> items, bool reverse) {
  Keyed* scratch = renderer.arena().NewArray<Keyed>(items.size());
  if (scratch == nullptr) {
    renderer.FailOutOfMemory();
    return false;
  }
  return SortRange(renderer, items.data(), scratch, items.size(), reverse);
}

// The items with their keys, made by `make_key`; nullptr data when that failed.
template <typename MakeKey>
std::span<Keyed> WithKeys(Renderer& renderer, std::span<const Value> items, MakeKey&& make_key) {
  Keyed* keyed = renderer.arena().NewArray<Keyed>(items.size());
  if (keyed == nullptr) renderer.FailOutOfMemory();
  for (std::size_t i = 0; i < items.size() && !renderer.failed(); ++i)
    keyed[i] = {make_key(items[i]), items[i]};
  return renderer.failed() ? std::span<Keyed>() : std::span(keyed, items.size());
}

Value ItemsOf(Renderer& renderer, std::span<const Keyed> keyed) {
  if (renderer.failed()) return Value::Error();
  ListBuilder items(renderer);
  for (const Keyed& one : keyed) {
    if (!items.Add(one.item)) return Value::Error();
  }
  return items.Finish();
}

Value SortFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<3> p;
  if (!p.Bind(renderer, arguments, "sort", {"reverse", "case_sensitive", "attribute"}))
    return Value::Error();
  // "a,b" sorts by the one and then by the other.
  std::vector<std::span<const Value>> paths;
  const auto add_path = [&](const Value& attribute) {
    return MakePath(renderer, attribute, &paths.emplace_back());
  };
  if (p[2].is_string()) {
    Split(p[2].text(), ",", -1, [&](std::string_view part) {
      return renderer.Step() && add_path(renderer.BorrowText(part));
    });
  } else {
    add_path(p[2]);
  }
  const bool ignore_case = !IsTrue(p.Or(1, Value::Bool(false)));
  ListBuilder items(renderer);
  if (renderer.failed() || !items.AddAll(input)) return Value::Error();
  const auto keyed = WithKeys(renderer, items.items(), [&](const Value& item) {
    ListBuilder keys(renderer);
    for (const auto& path : paths) {
      Value key = FollowPath(renderer, item, path);
      if (ignore_case) key = IgnoreCase(renderer, key);
      if (!keys.Add(key)) return Value::Error();
    }
    return keys.Finish();  // lists compare by their items, which need no order where they are equal
  });
  if (renderer.failed() || !Sort(renderer, keyed, IsTrue(p.Or(0, Value::Bool(false)))))
    return Value::Error();
  return ItemsOf(renderer, keyed);
}

Value DictSort(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<3> p;
  if (!p.Bind(renderer, arguments, "dictsort", {"case_sensitive", "by", "reverse"}))
    return Value::Error();
  const std::string_view by = p[1].is_missing() ? "key" : p[1].is_string() ? p[1].text() : "";
  if (by != "key" && by != "value") return renderer.Fail("dictsort sorts by key or by value");
  if (input.is_undefined()) return renderer.FailUndefined(input);
  if (!input.is(Kind::kDict))
    return renderer.Fail(fmt::format("dictsort wants a dict, not a {}", TypeName(input)));
  const bool ignore_case = !IsTrue(p.Or(0, Value::Bool(false)));
  ListBuilder pairs(renderer);
  const Value view = renderer.Make(Kind::kDictView, DictView{DictView::kItems, &input.dict()});
  if (view.is_error() || !pairs.AddAll(view)) return Value::Error();
  const auto keyed = WithKeys(renderer, pairs.items(), [&](const Value& pair) {
    const Value& key = pair.items()[by == "key" ? 0 : 1];
    return ignore_case ? IgnoreCase(renderer, key) : key;
  });
  if (renderer.failed() || !Sort(renderer, keyed, IsTrue(p.Or(2, Value::Bool(false)))))
    return Value::Error();
  return ItemsOf(renderer, keyed);
}

class UniqueIterator final : public Iterator {
 public:
  UniqueIterator(Value input, std::span<const Value> path, bool ignore_case)
      : input_(input), path_(path), ignore_case_(ignore_case) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (source_ == nullptr) {
      source_ = Iterate(renderer, input_);
      seen_ = source_ ? NewDict(renderer, 0) : nullptr;
      if (seen_ == nullptr) return kFailed;
    }
    Step step;
    while ((step = source_->Next(renderer, item)) == kItem) {
      Value key = FollowPath(renderer, *item, path_);
      if (ignore_case_) key = IgnoreCase(renderer, key);
      const std::uint32_t before = seen_->size;
      if (key.is_error() || !DictSet(renderer, seen_, key, Value::None())) return kFailed;
      if (seen_->size != before) return kItem;
    }
    return step;
  }

 private:
  const Value input_;
  const std::span<const Value> path_;
  const bool ignore_case_;
  Iterator* source_ = nullptr;
  Dict* seen_ = nullptr;
};

Value Unique(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  std::span<const Value> path;
  if (!p.Bind(renderer, arguments, "unique", {"case_sensitive", "attribute"}) ||
      !MakePath(renderer, p[1], &path)) {
    return Value::Error();
  }
  return MakeGenerator<UniqueIterator>(renderer, input, path, !IsTrue(p.Or(0, Value::Bool(false))));
}

template <Operator kBetter>
Value Extreme(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  std::span<const Value> path;
  if (!p.Bind(renderer, arguments, "min or max", {"case_sensitive", "attribute"}) ||
      !MakePath(renderer, p[1], &path)) {
    return Value::Error();
  }
  const bool ignore_case = !IsTrue(p.Or(0, Value::Bool(false)));
  Iterator* iterator = Iterate(renderer, input);
  if (iterator == nullptr) return Value::Error();
  Value item;
  Value best;
  Value best_key;
  Iterator::Step step;
  while ((step = iterator->Next(renderer, &item)) == Iterator::kItem) {
    Value key = FollowPath(renderer, item, path);
    if (ignore_case) key = IgnoreCase(renderer, key);
    if (key.is_error()) return key;
    if (!best.is_missing()) {
      const Truth better = Compare(renderer, kBetter, key, best_key);
      if (better == Truth::kFailed) return Value::Error();
      if (better == Truth::kFalse) continue;
    }
    best = item;
    best_key = key;
  }
  if (step == Iterator::kFailed) return Value::Error();
  return best.is_missing() ? renderer.UndefinedWith("No aggregated item, sequence was empty.")
                           : best;
}

Value GroupBy(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<3> p;
  std::span<const Value> path;
  if (!p.Bind(renderer, arguments, "groupby", {"attribute", "default", "case_sensitive"}, 1) ||
      !MakePath(renderer, p[0], &path)) {
    return Value::Error();
  }
  const bool ignore_case = !IsTrue(p.Or(2, Value::Bool(false)));
  ListBuilder items(renderer);
  if (!items.AddAll(input)) return Value::Error();
  const auto keyed = WithKeys(renderer, items.items(), [&](const Value& item) {
    const Value key = FollowPath(renderer, item, path, p[1]);
    return ignore_case ? IgnoreCase(renderer, key) : key;
  });
  if (renderer.failed() || !Sort(renderer, keyed, false)) return Value::Error();
  ListBuilder groups(renderer);
  for (std::size_t begin = 0; begin < keyed.size();) {
    ListBuilder group(renderer);
    std::size_t end = begin;
    for (; end < keyed.size(); ++end) {
      const Truth same =
          end == begin ? Truth::kTrue : Equal(renderer, keyed[begin].key, keyed[end].key);
      if (same == Truth::kFailed) return Value::Error();
      if (same == Truth::kFalse) break;
      if (!group.Add(keyed[end].item)) return Value::Error();
    }
    // The group is named by its first item's own spelling.
    const Value pair[] = {FollowPath(renderer, keyed[begin].item, path, p[1]), group.Finish()};
    if (renderer.failed() || !groups.Add(renderer.Tuple(pair, true))) return Value::Error();
    begin = end;
  }
  return groups.Finish();
}

constexpr Filter kFilters[] = {
    {"dictsort", DictSort},
    {"groupby", GroupBy},
    {"max", Extreme<Operator::kGreater>},
    {"min", Extreme<Operator::kLess>},
    {"sort", SortFilter},
    {"unique", Unique},
};

}  // namespace

std::span<const Filter> OrderFilters() { return kFilters; }

}  // namespace tonnage::chat
