// The state behind `loop`: where a for loop stands, with one item of look-ahead for `last` and
// `nextitem`.
#pragma once

#include <cstdint>
#include <optional>

#include "chat/iterate.h"

namespace tonnage::chat {

struct LoopState {
  Iterator* source;
  Value iterable;            // what `source` goes through, for its length
  const ForStmt* recursive;  // the loop that loop() runs again, or nullptr
  Activation* closure;       // where a recursive loop was defined
  std::int64_t depth0;
  std::int64_t index0 = -1;
  Value before, current, after;  // missing where there is none
  bool peeked = false;           // `after` is known; missing then means the end
  std::int64_t length = -1;
  Value changed;  // the tuple last given to changed(), or missing

  // The next item, or kDone.
  Iterator::Step Advance(Renderer& renderer);
  // Makes `after` known; false when that failed.
  bool Peek(Renderer& renderer);
  std::optional<std::int64_t> Length(Renderer& renderer);
};

// The attribute of `loop`; missing when it has none of the name.
Value LoopAttribute(Renderer& renderer, const Value& loop, std::string_view name);

}  // namespace tonnage::chat
