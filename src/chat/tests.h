// Jinja's tests (`is defined`, `is string`) by name.
#pragma once

#include <string_view>

#include "chat/operators.h"
#include "chat/renderer.h"

namespace tonnage::chat {

struct Test {
  std::string_view name;
  Truth (*call)(Renderer&, const Value& input, const Arguments&);
};

// nullptr when there is none of the name.
const Test* FindTest(std::string_view name);

}  // namespace tonnage::chat
