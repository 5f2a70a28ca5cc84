// The `attribute` of filters such as map, sort and groupby: "address.city", "0", or an integer.
#pragma once

#include <span>

#include "chat/renderer.h"

namespace tonnage::chat {

// The steps of a path, none of them for none or missing. False when it failed.
bool MakePath(Renderer& renderer, const Value& attribute, std::span<const Value>* path);

// What lies at the end of the path. Where a step finds nothing and `otherwise` is neither missing
// nor none, that is taken.
Value FollowPath(Renderer& renderer, Value item, std::span<const Value> path,
                 const Value& otherwise = Value());

// Strings in lower case, others as they are: how filters compare unless they are told to mind the
// case.
Value IgnoreCase(Renderer& renderer, const Value& value);

}  // namespace tonnage::chat
