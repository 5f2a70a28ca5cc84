// The functions that every template finds: range, dict, namespace, cycler, joiner, raise_exception,
// strftime_now.
#pragma once

#include <string_view>

#include "chat/value.h"

namespace tonnage::chat {

// Missing when there is none of the name.
Value FindGlobal(std::string_view name);

}  // namespace tonnage::chat
