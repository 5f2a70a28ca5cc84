#include "chat/iterate.h"

#include "chat/text.h"

namespace tonnage::chat {
namespace {

class EmptyIterator final : public Iterator {
 public:
  Step Next(Renderer&, Value*) override { return kDone; }
};

class SequenceIterator final : public Iterator {
 public:
  explicit SequenceIterator(std::span<const Value> items) : items_(items) {}
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

class TextIterator final : public Iterator {
 public:
  explicit TextIterator(const String& text) : text_(text) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (!renderer.Step()) return kFailed;
    const std::size_t begin = next_;
    if (begin >= text_.size) return kDone;
    DecodeChar(text_.view(), &next_);
    // Iterating over a Markup gives plain strings.
    *item = renderer.BorrowText(text_.view().substr(begin, next_ - begin));
    return item->is_error() ? kFailed : kItem;
  }

 private:
  const String text_;
  std::size_t next_ = 0;
};

class DictIterator final : public Iterator {
 public:
  explicit DictIterator(DictView view) : view_(view) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (!renderer.Step()) return kFailed;
    if (next_ == view_.dict->size) return kDone;
    const Entry& entry = view_.dict->entries[next_++];
    switch (view_.which) {
      case DictView::kKeys:
        *item = entry.key;
        break;
      case DictView::kValues:
        *item = entry.value;
        break;
      case DictView::kItems:
        *item = ItemPair(renderer, entry.key, entry.value);
        break;
    }
    return item->is_error() ? kFailed : kItem;
  }

 private:
  const DictView view_;
  std::uint32_t next_ = 0;
};

class RangeIterator final : public Iterator {
 public:
  explicit RangeIterator(const Range& range) : range_(range) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (!renderer.Step()) return kFailed;
    if (next_ == range_.size) return kDone;
    *item = Value::Int(range_.at(next_++));
    return kItem;
  }

 private:
  const Range range_;
  std::int64_t next_ = 0;
};

template <typename T, typename... Args>
Iterator* Make(Renderer& renderer, Args&&... args) {
  const Value made = MakeGenerator<T>(renderer, std::forward<Args>(args)...);
  return made.is_error() ? nullptr : &made.as_mutable<Iterator>();
}

}  // namespace

Iterator* Iterate(Renderer& renderer, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return Make<EmptyIterator>(renderer);
    case Kind::kString:
      return Make<TextIterator>(renderer, value.string());
    case Kind::kList:
    case Kind::kTuple:
      return Make<SequenceIterator>(renderer, value.items());
    case Kind::kDict:
      return Make<DictIterator>(renderer, DictView{DictView::kKeys, &value.dict()});
    case Kind::kDictView:
      return Make<DictIterator>(renderer, value.as<DictView>());
    case Kind::kRange:
      return Make<RangeIterator>(renderer, value.as<Range>());
    case Kind::kIterator:
      return &value.as_mutable<Iterator>();
    default:
      renderer.Fail(fmt::format("a {} cannot be iterated over", TypeName(value)));
      return nullptr;
  }
}

bool IsIterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kIterator:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

bool ListBuilder::Add(const Value& value) {
  if (value.is_error()) return false;
  if (size_ == capacity_) {
    const std::size_t capacity = capacity_ == 0 ? 8 : capacity_ * 2;
    Value* data = renderer_.arena().NewArray<Value>(capacity);
    if (data == nullptr) {
      renderer_.FailOutOfMemory();
      return false;
    }
    std::copy(data_, data_ + size_, data);
    data_ = data;
    capacity_ = capacity;
  }
  data_[size_++] = value;
  return true;
}

bool ListBuilder::AddAll(const Value& iterable) {
  Iterator* iterator = Iterate(renderer_, iterable);
  if (iterator == nullptr) return false;
  Value item;
  Iterator::Step step;
  while ((step = iterator->Next(renderer_, &item)) == Iterator::kItem) {
    if (!Add(item)) return false;
  }
  return step == Iterator::kDone;
}

Value ListBuilder::Finish(Kind kind, bool group) {
  return renderer_.Make(kind, Sequence{data_, size_, group});
}

Value ItemPair(Renderer& renderer, const Value& key, const Value& value) {
  const Value pair[] = {key, value};
  return renderer.Tuple(pair);
}

}  // namespace tonnage::chat
