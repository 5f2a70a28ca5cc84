// Any bytes as the body of a completion request.
#include "server/openai/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tonnage::openai::CheckParser(tonnage::openai::ParseCompletion,
                               {reinterpret_cast<const char*>(data), size});
  return 0;
}
