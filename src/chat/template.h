// A chat template: Jinja2 as Hugging Face's apply_chat_template sets it up (sandboxed and
// immutable, trim_blocks, lstrip_blocks, loop controls, `generation` tags, raise_exception,
// strftime_now, a tojson that does not escape HTML). Parsed once, rendered many times; Render is
// const and may run on any number of threads at once. The source and the variables are untrusted:
// parsing and rendering are bounded, and every failure is an Error with line and column.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "chat/limits.h"
#include "chat/local_time.h"

namespace tonnage::chat {

struct RenderOptions {
  LocalTime now;  // what strftime_now() formats
  RenderLimits limits;
};

class Template {
 public:
  static Result<Template> Parse(std::string_view source);

  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  // `variables` is an object: messages, tools, documents, bos_token, add_generation_prompt, and
  // whatever else.
  Result<std::string> Render(const Json& variables, const RenderOptions& options) const;

  // Whether its source has the name at all: without it, no variable of that name is heeded.
  bool Mentions(std::string_view variable) const;

 private:
  struct Impl;
  explicit Template(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace tonnage::chat
