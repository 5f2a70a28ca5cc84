// The text of HTTP/1.1 around what handlers take and give: paths, heads, chunks. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace tonnage::http {

// The path of a target, percent-decoded; nothing when an escape is malformed.
std::optional<std::string> DecodePath(std::string_view target);

// Everything of an answer up to its body, which has `length` bytes or comes in chunks.
std::string Head(const Response& response, bool keep_alive, std::optional<std::size_t> length);

// A piece of a chunked body. Not for an empty one, which would end it.
std::string Chunk(std::string_view piece);

}  // namespace tonnage::http
