// str() and repr() of a template's values, as Python writes them. False, and failed, when the text
// grows too large.
#pragma once

#include <string>

#include "chat/renderer.h"

namespace tonnage::chat {

bool AppendText(Renderer& renderer, const Value& value, std::string* out);
bool AppendRepr(Renderer& renderer, const Value& value, std::string* out);
void AppendQuoted(std::string_view text, std::string* out);
// What is not ASCII, as backslash escapes: the difference between repr() and ascii().
std::string EscapeNonAscii(std::string_view text);

// str(value): a string that is no markup.
Value ToText(Renderer& renderer, const Value& value);
// The same, but text that is markup stays so.
Value ToSoftText(Renderer& renderer, const Value& value);

}  // namespace tonnage::chat
