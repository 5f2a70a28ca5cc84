// json.dumps as transformers' tojson filter calls it: nothing is escaped for HTML.
#pragma once

#include "chat/renderer.h"

namespace tonnage::chat {

// The filter: tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false).
Value ToJson(Renderer& renderer, const Value& input, const Arguments& arguments);

}  // namespace tonnage::chat
