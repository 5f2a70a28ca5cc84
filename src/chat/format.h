// str.format: "{}", "{0.name[key]!r:>{width}}". Attributes and items are looked up as the sandbox
// does.
#pragma once

#include "chat/renderer.h"

namespace tonnage::chat {

// `mapping` answers names where it is given (format_map); else the keywords do. What goes into
// markup is escaped.
Value FormatBraces(Renderer& renderer, const Value& format, const Arguments& arguments,
                   const Value* mapping);

}  // namespace tonnage::chat
