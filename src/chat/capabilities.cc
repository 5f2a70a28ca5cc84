#include "chat/capabilities.h"
namespace tonnage::chat {
Capabilities DetectCapabilities(const Template&) { return {}; }
}  // namespace tonnage::chat
