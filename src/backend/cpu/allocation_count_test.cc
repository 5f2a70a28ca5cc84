#include <atomic>
#include <cstdlib>
#include <new>

#include "backend/cpu/allocation_count_for_test.h"

namespace {

std::atomic<std::int64_t> allocations{0};

[[maybe_unused]] void* Count(void* memory) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// These stand in a file of their own, where no compiler sees both ends of a pair.
void* operator new(size_t bytes) { return Count(std::malloc(bytes)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto a = static_cast<size_t>(alignment);
  return Count(std::aligned_alloc(a, (bytes + a - 1) / a * a));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace tonnage {

std::int64_t AllocationCount() { return allocations.load(); }

}  // namespace tonnage
