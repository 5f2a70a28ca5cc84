// Gives every name of a tree its place, and finds what Jinja refuses when it compiles: unknown
// filters and tests outside of branches, `break` outside of loops, and the like.
#pragma once

#include "base/result.h"
#include "chat/arena.h"
#include "chat/ast.h"

namespace tonnage::chat {

Status ResolveNames(Tree* tree, Arena* arena);

}  // namespace tonnage::chat
