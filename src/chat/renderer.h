// What one rendering holds and what every builtin sees: the arena, the budget, the first error, and
// the ways to make values. A failing operation calls Fail and returns Value::Error() (or false, or
// nullptr), which the callers pass on. One thread; borrows the variables and the options, which
// outlive it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "chat/arena.h"
#include "chat/lexer.h"
#include "chat/template.h"
#include "chat/value.h"

namespace tonnage::chat {

class Renderer {
 public:
  Renderer(const Json& variables, const RenderOptions& options);

  const RenderOptions& options() const { return options_; }
  Arena& arena() { return arena_; }

  // The first failure stays.
  Value Fail(std::string message);
  Value FailOutOfMemory();
  // Uses an undefined value, or one of an unsuitable type.
  Value FailUndefined(const Value& value);
  bool failed() const { return error_.has_value(); }
  // Says where the failure was; the innermost place stays.
  void LocateError(Position position);
  Error error() const;

  // Takes `count` steps off the budget; false, and failed, when none are left.
  bool Step(std::int64_t count = 1) {
    steps_left_ -= count;
    return steps_left_ >= 0 || StepsExhausted();
  }
  // For work on `bytes` of text.
  bool StepText(std::size_t bytes) { return Step(1 + static_cast<std::int64_t>(bytes / 64)); }
  // Whether text of `bytes` may be made; failed when not.
  bool AllowText(std::size_t bytes);

  // One level of nested evaluation. Ok() is false, and the rendering failed, when it is one too
  // many.
  class Depth {
   public:
    explicit Depth(Renderer* renderer) : renderer_(renderer) { ++renderer_->depth_; }
    ~Depth() { --renderer_->depth_; }
    bool Ok() const;

   private:
    Renderer* renderer_;
  };

  Value Text(std::string_view text, bool markup = false);        // copies
  Value BorrowText(std::string_view text, bool markup = false);  // `text` outlives the rendering
  Value List(std::span<const Value> items);                      // copies
  Value Tuple(std::span<const Value> items, bool group = false);
  Value Concatenate(const Value& left,
                    std::string_view right);  // left + right; grows left's buffer when it can
  Value UndefinedVariable(std::string_view name);
  Value UndefinedAttribute(const Value& object, std::string_view name);
  Value UndefinedWith(std::string_view hint);
  template <typename T>
  Value Make(Kind kind, T object) {
    const T* made = arena_.New<T>(object);
    return made ? Value::Of(kind, made) : FailOutOfMemory();
  }
  // Code points of the string; counted once.
  std::int64_t Chars(const Value& string);

  // A variable of the context, or a global, or missing.
  Value Resolve(std::string_view name);

 private:
  bool StepsExhausted();

  const Json& variables_;
  const RenderOptions& options_;
  Arena arena_;
  std::int64_t steps_left_;
  int depth_ = 0;
  std::map<std::string_view, Value> resolved_;
  std::optional<std::string> error_;
  std::optional<Position> position_;
};

}  // namespace tonnage::chat
