// Any bytes as a hub's answer, and the choice of files that would be made of it.
#include <cstdlib>

#include "checkpoint/hub/select.h"

using namespace tonnage;       // NOLINT: a program of one function
using namespace tonnage::hub;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const auto listing = ParseListing({reinterpret_cast<const char*>(data), size});
  if (!listing.ok()) return 0;
  for (const char* file : {"", "Q4_K_M", "a.gguf"}) {
    const auto files = SelectFiles(*listing, {.repository = "a/b", .file = file});
    if (!files.ok()) continue;
    Bytes sum = 0;
    if (files->empty()) std::abort();
    for (const File& chosen : *files) {
      if (!IsPlainPath(chosen.path) || chosen.bytes < 0) std::abort();
      sum += chosen.bytes;
    }
    if (sum < 0) std::abort();
  }
  return 0;
}
