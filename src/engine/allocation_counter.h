// Counts every allocation of the process while it is armed, for tests that promise none. Include
// it in one file of a test program: it replaces malloc and its kin. Sanitizers replace them too, so
// under one it counts nothing and says so.
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

// Allocations of any thread between construction and Count.
class AllocationCount {
 public:
  AllocationCount() {
    allocations = 0;
    count_allocations = true;
  }
  ~AllocationCount() { count_allocations = false; }
  long Count() {
    count_allocations = false;
    return allocations;
  }
};

inline void NoteAllocation() {
  if (count_allocations.load(std::memory_order_relaxed)) allocations.fetch_add(1);
}

}  // namespace tonnage

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
// glibc's own, which the replacements end in.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  tonnage::NoteAllocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  tonnage::NoteAllocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  tonnage::NoteAllocation();
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  tonnage::NoteAllocation();
  return __libc_memalign(alignment, bytes);
}
}
#endif
