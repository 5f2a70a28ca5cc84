// Any bytes as what comes over a runner's socket.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "runner/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tonnage::wire::Reader reader;
  reader.Push(bytes);
  std::string again;
  for (;;) {
    const auto next = reader.Next();
    if (!next.ok() || !*next) break;
    CHECK(tonnage::wire::Append(**next, again).ok());
  }
  // What was understood is said again with the same bytes.
  CHECK(bytes.starts_with(again));
  return 0;
}
