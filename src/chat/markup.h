// HTML escaping, which prompts do not want, but templates may ask for: what `|e` and `|safe` make
// is markup, and text that joins markup is escaped.
#pragma once

#include <string>
#include <string_view>

#include "chat/renderer.h"

namespace tonnage::chat {

void AppendEscaped(std::string_view text, std::string* out);
std::string Unescaped(std::string_view html);

// The value's text as markup, escaped unless it is markup already.
Value Escape(Renderer& renderer, const Value& value);

// The text without tags, its white space collapsed and its entities resolved.
std::string StripTags(std::string_view html);

}  // namespace tonnage::chat
