// Going through values one by one. Iterators lie in the arena; a generator (what `map` and its like
// return) is one, and can be gone through once.
#pragma once

#include <string_view>

#include "chat/renderer.h"

namespace tonnage::chat {

class Iterator {
 public:
  enum Step { kItem, kDone, kFailed };
  virtual Step Next(Renderer& renderer, Value* item) = 0;

 protected:
  ~Iterator() = default;
};

// Puts an iterator of type T into the arena; error(), and failed, when memory runs out.
template <typename T, typename... Args>
Value MakeGenerator(Renderer& renderer, Args&&... args) {
  void* memory = renderer.arena().Allocate(sizeof(T));
  if (memory == nullptr) return renderer.FailOutOfMemory();
  Iterator* iterator = new (memory) T(std::forward<Args>(args)...);
  return Value::Of(Kind::kIterator, iterator);
}

// nullptr, and failed, for what cannot be iterated over.
Iterator* Iterate(Renderer& renderer, const Value& value);
bool IsIterable(const Value& value);

// Gathers items in the arena.
class ListBuilder {
 public:
  explicit ListBuilder(Renderer& renderer) : renderer_(renderer) {}
  bool Add(const Value& value);
  bool AddAll(const Value& iterable);
  std::span<Value> items() { return {data_, size_}; }
  std::size_t size() const { return size_; }
  Value Finish(Kind kind = Kind::kList, bool group = false);

 private:
  Renderer& renderer_;
  Value* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// The pair that items() yields.
Value ItemPair(Renderer& renderer, const Value& key, const Value& value);

}  // namespace tonnage::chat
