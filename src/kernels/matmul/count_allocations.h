// For tests: how often this program has called operator new, on any thread.
#pragma once

namespace tonnage {

int CountAllocations();

}  // namespace tonnage
