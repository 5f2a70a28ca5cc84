// Any text as a template: it is refused or rendered, within small bounds. Whatever the template
// does with a conversation must not crash, hang or leave a sanitizer anything to say.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "chat/template.h"

using tonnage::Json;
using tonnage::chat::RenderOptions;
using tonnage::chat::Template;

namespace {

const Json& Conversation() {
  static const Json variables = *tonnage::ParseJson(R"({
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": [{"type": "text", "text": "hé"}]},
                 {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.5}}}]}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
    "s": " Text, text ", "t": "日本😀", "i": 7, "f": 2.5, "b": true, "n": null, "l": [3, 1, "a", []], "d": {"a": 1, "b": {"c": 2}},
    "add_generation_prompt": true})");
  return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = Template::Parse({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) return 0;
  RenderOptions options;
  options.limits = {
      .steps = 100'000, .memory_bytes = 4 << 20, .output_bytes = 1 << 18, .depth = 200};
  const auto rendered = parsed->Render(Conversation(), options);
  if (rendered.ok())
    CHECK_LE(rendered->size(), static_cast<std::size_t>(options.limits.output_bytes));
  return 0;
}
