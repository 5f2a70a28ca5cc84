// The pprint filter: Python's pprint.pformat.
#pragma once

#include "chat/renderer.h"

namespace tonnage::chat {

Value PrettyPrint(Renderer& renderer, const Value& input, const Arguments& arguments);

}  // namespace tonnage::chat
