#include "server/http/message.h"

#include <algorithm>
#include <cctype>

namespace tonnage::http {

std::optional<std::string_view> Request::Header(std::string_view name) const {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  for (const auto& [key, value] : headers) {
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(), same)) return value;
  }
  return std::nullopt;
}

}  // namespace tonnage::http
