// Builds the tree of a template from its tokens, after Jinja's grammar. Nesting is bounded.
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat/arena.h"
#include "chat/ast.h"

namespace tonnage::chat {

// `source` has normalized newlines and outlives the tree, as does the arena. Names have no places
// yet (resolver.h).
Result<Tree*> ParseTree(std::string_view source, Arena* arena);

}  // namespace tonnage::chat
