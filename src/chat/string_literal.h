// The escapes of Python's string literals, as Jinja decodes them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tonnage::chat {

// `body` is what stands between the quotes.
Result<std::string> UnescapeString(std::string_view body);

}  // namespace tonnage::chat
