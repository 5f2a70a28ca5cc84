// Counts what the test program takes from the heap through operator new. Sanitizers have their own
// operator new: with them nothing is counted.
#pragma once

#include <cstdint>

namespace tonnage {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsAllocations = false;
#else
inline constexpr bool kCountsAllocations = true;
#endif

std::int64_t AllocationCount();

}  // namespace tonnage
