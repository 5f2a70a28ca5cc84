// `object.name` and `object[index]` under the rules of Jinja's immutable sandbox.
#pragma once

#include <string_view>

#include "chat/renderer.h"

namespace tonnage::chat {

// The attribute if there is one, else the item; undefined when neither exists.
Value GetAttribute(Renderer& renderer, const Value& object, std::string_view name);
// The item if there is one, else the attribute.
Value GetItem(Renderer& renderer, const Value& object, const Value& index);
// object[start:stop:step]. A `lenient` one, a constant of a constant, is undefined where the types
// are wrong.
Value GetSlice(Renderer& renderer, const Value& object, const Slice& slice, bool lenient);

// The attribute alone; missing when there is none, undefined when the sandbox refuses it.
Value NativeAttribute(Renderer& renderer, const Value& object, std::string_view name);

}  // namespace tonnage::chat
