// Whether code mentions a name that it does not itself set before: how Jinja finds out that a
// loop's body uses `loop`, or a macro's body `caller`.
#pragma once

#include <string_view>

#include "chat/ast.h"

namespace tonnage::chat {

bool ReadsUndeclared(const Body& body, std::string_view name);

}  // namespace tonnage::chat
