// Constants of a template: made while parsing, shared by every rendering, so nothing about them may
// change later.
#pragma once

#include <string_view>

#include "chat/arena.h"
#include "chat/ast.h"

namespace tonnage::chat {

// A string in the arena that borrows `text`, or copies it; error() where the arena is full.
Value MakeConstantString(Arena* arena, std::string_view text, bool copy);

// Whether Jinja's optimizer would try to fold this expression: no names and no calls below it.
bool IsConstant(const Expr& expr);

}  // namespace tonnage::chat
