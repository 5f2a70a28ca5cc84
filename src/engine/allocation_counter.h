// Counts every allocation of the process while it is armed, and the largest, for tests that promise
// none or none too large. It replaces malloc and its kin in the test program that includes it.
// Sanitizers replace them too, so under one it counts nothing and says so.
#pragma once

#include <atomic>
#include <cstddef>

namespace tonnage {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

inline std::atomic<bool> count_allocations{false};
inline std::atomic<long> allocations{0};
inline std::atomic<std::size_t> largest_allocation{0};  // in bytes

// Allocations of any thread between construction and Count.
class AllocationCount {
 public:
  AllocationCount() {
    allocations = 0;
    largest_allocation = 0;
    count_allocations = true;
  }
  ~AllocationCount() { count_allocations = false; }
  long Count() {
    count_allocations = false;
    return allocations;
  }
  // Of the largest of them, in bytes.
  std::size_t Largest() {
    count_allocations = false;
    return largest_allocation;
  }
};

inline void NoteAllocation(std::size_t bytes) {
  if (!count_allocations.load(std::memory_order_relaxed)) return;
  allocations.fetch_add(1);
  std::size_t largest = largest_allocation.load();
  while (bytes > largest && !largest_allocation.compare_exchange_weak(largest, bytes)) {
  }
}

}  // namespace tonnage

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
// glibc's own, which the replacements end in.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

// Weak, so that several files of a program may include this.
[[gnu::weak]] void* malloc(std::size_t bytes) {
  tonnage::NoteAllocation(bytes);
  return __libc_malloc(bytes);
}
[[gnu::weak]] void* calloc(std::size_t count, std::size_t bytes) {
  tonnage::NoteAllocation(count * bytes);
  return __libc_calloc(count, bytes);
}
[[gnu::weak]] void* realloc(void* old, std::size_t bytes) {
  tonnage::NoteAllocation(bytes);
  return __libc_realloc(old, bytes);
}
[[gnu::weak]] void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  tonnage::NoteAllocation(bytes);
  return __libc_memalign(alignment, bytes);
}
}
#endif
