// Counts what the test program takes from the heap through operator new.
#pragma once

#include <cstdint>

namespace tonnage {

std::int64_t AllocationCount();

}  // namespace tonnage
