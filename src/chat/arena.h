// A bump allocator that owns everything made while parsing one template or rendering it once. What
// lies in it is trivially destructible and goes away in one sweep, so hostile values (cycles, deep
// nesting) cost nothing to drop. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace tonnage::chat {

class Arena {
 public:
  explicit Arena(Bytes limit_bytes) : free_bytes_(static_cast<std::size_t>(limit_bytes)) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // 16-byte aligned memory, or nullptr when the limit would be crossed.
  void* Allocate(std::size_t bytes) {
    bytes = std::max<std::size_t>(bytes, 1);  // nothing has an address too
    if (bytes <= left_) {
      bytes = (bytes + 15) & ~std::size_t{15};  // left_ is a multiple of 16
      char* result = next_;
      next_ += bytes;
      left_ -= bytes;
      return result;
    }
    return AllocateFromNewChunk(bytes);
  }

  // Nullptr when the limit would be crossed.
  template <typename T, typename... Args>
  T* New(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16);
    void* memory = Allocate(sizeof(T));
    return memory ? new (memory) T{std::forward<Args>(args)...} : nullptr;
  }

  // An uninitialized array of a trivial type; nullptr when the limit would be crossed.
  template <typename T>
  T* NewArray(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16);
    if (count > (std::size_t{1} << 40) / sizeof(T)) return nullptr;
    return static_cast<T*>(Allocate(count * sizeof(T)));
  }

 private:
  static constexpr std::size_t kFirstChunkBytes = 16 << 10;
  static constexpr std::size_t kLargestChunkBytes = 1 << 20;

  void* AllocateFromNewChunk(std::size_t bytes) {
    if (bytes > free_bytes_) return nullptr;
    if (bytes >= chunk_bytes_ / 4)
      return NewChunk(bytes);  // what is left of the current chunk stays in use
    const std::size_t chunk = std::min(chunk_bytes_, free_bytes_ & ~std::size_t{15});
    char* memory = bytes <= chunk ? NewChunk(chunk) : nullptr;
    if (memory == nullptr) return nullptr;
    chunk_bytes_ = std::min(chunk_bytes_ * 2, kLargestChunkBytes);
    next_ = memory;
    left_ = chunk;
    return Allocate(bytes);
  }

  char* NewChunk(std::size_t bytes) {
    std::unique_ptr<char[]> memory(new (std::nothrow) char[bytes]);
    if (memory == nullptr) return nullptr;
    free_bytes_ -= bytes;
    chunks_.push_back(std::move(memory));
    return chunks_.back().get();
  }

  std::size_t free_bytes_;  // of the limit
  std::size_t chunk_bytes_ = kFirstChunkBytes;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace tonnage::chat
