// The % operator on strings.
#pragma once

#include "chat/renderer.h"

namespace tonnage::chat {

// format % arguments; a tuple is several, a dict answers %(name)s. What goes into markup is
// escaped.
Value FormatPercent(Renderer& renderer, const Value& format, const Value& arguments);

}  // namespace tonnage::chat
