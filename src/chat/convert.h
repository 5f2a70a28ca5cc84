// JSON as a template's values. Text is borrowed from the JSON.
#pragma once

#include "base/json.h"
#include "chat/renderer.h"

namespace tonnage::chat {

Value FromJson(Renderer& renderer, const Json& json);

}  // namespace tonnage::chat
