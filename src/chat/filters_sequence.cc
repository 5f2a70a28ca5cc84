// Filters that go through sequences as they are: first, join, batch and their like.
#include <algorithm>

#include "chat/arguments.h"
#include "chat/attribute_path.h"
#include "chat/filters.h"
#include "chat/iterate.h"
#include "chat/operators.h"
#include "chat/repr.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

Value First(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "first")) return Value::Error();
  Iterator* iterator = Iterate(renderer, input);
  if (iterator == nullptr) return Value::Error();
  Value item;
  switch (iterator->Next(renderer, &item)) {
    case Iterator::kItem:
      return item;
    case Iterator::kDone:
      return renderer.UndefinedWith("No first item, sequence was empty.");
    default:
      return Value::Error();
  }
}

// The items from the last to the first, for what Python's reversed() takes.
bool CollectReversed(Renderer& renderer, const Value& input, ListBuilder* items) {
  switch (input.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
      if (!items->AddAll(input)) return false;
      std::reverse(items->items().begin(), items->items().end());
      return true;
    default:
      renderer.Fail(fmt::format("a {} cannot be reversed", TypeName(input)));
      return false;
  }
}

Value Last(Renderer& renderer, const Value& input, const Arguments& arguments) {
  ListBuilder items(renderer);
  if (!BindNone(renderer, arguments, "last")) return Value::Error();
  if (input.is_sequence() && !input.items().empty()) return input.items().back();
  if (!CollectReversed(renderer, input, &items)) return Value::Error();
  return items.size() == 0 ? renderer.UndefinedWith("No last item, sequence was empty.")
                           : items.items()[0];
}

Value LengthFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "length")) return Value::Error();
  const auto length = Length(renderer, input);
  return length ? Value::Int(*length) : Value::Error();
}

Value ListFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  ListBuilder items(renderer);
  if (!BindNone(renderer, arguments, "list") || !items.AddAll(input)) return Value::Error();
  return items.Finish();
}

Value Join(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  std::span<const Value> path;
  if (!p.Bind(renderer, arguments, "join", {"d", "attribute"}) || !MakePath(renderer, p[1], &path))
    return Value::Error();
  std::string separator;
  Iterator* iterator = Iterate(renderer, input);
  if (iterator == nullptr || (!p[0].is_missing() && !AppendText(renderer, p[0], &separator)))
    return Value::Error();
  std::string out;
  Value item;
  Iterator::Step step;
  for (bool first = true; (step = iterator->Next(renderer, &item)) == Iterator::kItem;
       first = false) {
    if (!first) out += separator;
    if (!renderer.StepText(separator.size()) ||
        !AppendText(renderer, FollowPath(renderer, item, path), &out)) {
      return Value::Error();
    }
  }
  return step == Iterator::kFailed ? Value::Error() : renderer.Text(out);
}

// What was gathered when the filter ran, given out once.
class CollectedIterator final : public Iterator {
 public:
  explicit CollectedIterator(std::span<const Value> items) : items_(items) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (!renderer.Step()) return kFailed;
    if (next_ == items_.size()) return kDone;
    *item = items_[next_++];
    return kItem;
  }

 private:
  std::span<const Value> items_;
  std::size_t next_ = 0;
};

Value Reverse(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "reverse")) return Value::Error();
  ListBuilder items(renderer);
  if (input.is_string()) {
    if (!renderer.Step(input.string().size / 4)) return Value::Error();
    const std::vector<char32_t> chars = Decode(input.text());
    std::string out;
    for (auto c = chars.rbegin(); c != chars.rend(); ++c) AppendChar(*c, &out);
    return renderer.Text(out, input.string().markup);
  }
  if (input.is(Kind::kIterator)) {  // has no order to reverse until it is a list
    if (!items.AddAll(input)) return Value::Error();
    std::reverse(items.items().begin(), items.items().end());
    return items.Finish();
  }
  if (!CollectReversed(renderer, input, &items)) return Value::Error();
  return MakeGenerator<CollectedIterator>(renderer, std::span<const Value>(items.items()));
}

class BatchIterator final : public Iterator {
 public:
  BatchIterator(Value input, Value count, Value fill) : input_(input), count_(count), fill_(fill) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (source_ == nullptr && (source_ = Iterate(renderer, input_)) == nullptr) return kFailed;
    ListBuilder batch(renderer);
    if (!pending_.is_missing() && !batch.Add(pending_)) return kFailed;
    pending_ = Value();
    Value next;
    Step step;
    while ((step = source_->Next(renderer, &next)) == kItem) {
      const Truth full =
          Equal(renderer, Value::Int(static_cast<std::int64_t>(batch.size())), count_);
      if (full == Truth::kFailed) return kFailed;
      if (full == Truth::kTrue) {
        pending_ = next;
        *item = batch.Finish();
        return item->is_error() ? kFailed : kItem;
      }
      if (!batch.Add(next)) return kFailed;
    }
    if (step == kFailed) return kFailed;
    if (batch.size() == 0) return kDone;
    return Fill(renderer, &batch, item) ? kItem : kFailed;
  }

 private:
  bool Fill(Renderer& renderer, ListBuilder* batch, Value* item) {
    while (!fill_.is_none()) {
      const Truth more = Compare(renderer, Operator::kLess,
                                 Value::Int(static_cast<std::int64_t>(batch->size())), count_);
      if (more == Truth::kFailed) return false;
      if (more == Truth::kFalse) break;
      if (!batch->Add(fill_)) return false;
    }
    *item = batch->Finish();
    return !item->is_error();
  }

  const Value input_, count_, fill_;
  Iterator* source_ = nullptr;
  Value pending_;  // read, but the first of the next batch
};

Value Batch(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, "batch", {"linecount", "fill_with"}, 1)) return Value::Error();
  return MakeGenerator<BatchIterator>(renderer, input, p[0], p.Or(1, Value::None()));
}

class SliceIterator final : public Iterator {
 public:
  SliceIterator(Value input, Value slices, Value fill)
      : input_(input), slices_(slices), fill_(fill) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (!started_ && !Start(renderer)) return kFailed;
    if (!renderer.Step()) return kFailed;
    if (number_ >= count_) return kDone;
    const auto length = static_cast<std::int64_t>(items_.size());
    const std::int64_t each = length / count_;
    const std::int64_t extra = length % count_;
    const std::int64_t begin = offset_ + number_ * each;
    if (number_ < extra) ++offset_;
    const std::int64_t end = offset_ + (number_ + 1) * each;
    ListBuilder part(renderer);
    for (std::int64_t i = begin; i < end; ++i) {
      if (!part.Add(items_[static_cast<std::size_t>(i)])) return kFailed;
    }
    if (!fill_.is_none() && number_ >= extra && !part.Add(fill_)) return kFailed;
    ++number_;
    *item = part.Finish();
    return item->is_error() ? kFailed : kItem;
  }

 private:
  bool Start(Renderer& renderer) {
    started_ = true;
    ListBuilder items(renderer);
    if (!items.AddAll(input_)) return false;
    items_ = items.items();
    const auto count = IntegerArgument(renderer, slices_, "slice");
    if (!count) return false;
    if (*count == 0) renderer.Fail("division by zero");
    count_ = *count;
    return !renderer.failed();
  }

  const Value input_, slices_, fill_;
  std::span<const Value> items_;
  std::int64_t count_ = 0, number_ = 0, offset_ = 0;
  bool started_ = false;
};

Value SliceFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, "slice", {"slices", "fill_with"}, 1)) return Value::Error();
  return MakeGenerator<SliceIterator>(renderer, input, p[0], p.Or(1, Value::None()));
}

class ItemsIterator final : public Iterator {
 public:
  explicit ItemsIterator(Value input) : input_(input) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (!renderer.Step()) return kFailed;
    if (input_.is_undefined()) return kDone;
    if (!input_.is(Kind::kDict)) {
      renderer.Fail(fmt::format("items wants a mapping, not a {}", TypeName(input_)));
      return kFailed;
    }
    if (next_ == input_.dict().size) return kDone;
    const Entry& entry = input_.dict().entries[next_++];
    *item = ItemPair(renderer, entry.key, entry.value);
    return item->is_error() ? kFailed : kItem;
  }

 private:
  const Value input_;
  std::uint32_t next_ = 0;
};

Value Items(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "items")) return Value::Error();
  return MakeGenerator<ItemsIterator>(renderer, input);
}

Value Sum(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  std::span<const Value> path;
  if (!p.Bind(renderer, arguments, "sum", {"attribute", "start"}) ||
      !MakePath(renderer, p[0], &path))
    return Value::Error();
  Value total = p.Or(1, Value::Int(0));
  if (total.is_string()) return renderer.Fail("sum() does not join strings: use join");
  Iterator* iterator = Iterate(renderer, input);
  if (iterator == nullptr) return Value::Error();
  Value item;
  Iterator::Step step;
  while ((step = iterator->Next(renderer, &item)) == Iterator::kItem) {
    item = FollowPath(renderer, item, path);
    if (!item.is_error()) total = Arithmetic(renderer, Operator::kAdd, total, item);
    if (item.is_error() || total.is_error()) return Value::Error();
  }
  return step == Iterator::kFailed ? Value::Error() : total;
}

Value Random(Renderer& renderer, const Value&, const Arguments&) {
  return renderer.Fail(
      "the filter 'random' is not supported: a prompt must not differ from time to time");
}

constexpr Filter kFilters[] = {
    {"batch", Batch},         {"count", LengthFilter}, {"first", First},
    {"items", Items},         {"join", Join},          {"last", Last},
    {"length", LengthFilter}, {"list", ListFilter},    {"random", Random, true},
    {"reverse", Reverse},     {"slice", SliceFilter},  {"sum", Sum},
};

}  // namespace

std::span<const Filter> SequenceFilters() { return kFilters; }

}  // namespace tonnage::chat
