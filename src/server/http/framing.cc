#include "server/http/framing.h"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>
#include <charconv>

namespace tonnage::http {

std::optional<std::string> DecodePath(std::string_view target) {
  std::string path;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] != '%') {
      path += target[i];
      continue;
    }
    unsigned value = 0;
    const char* digits = target.data() + i + 1;
    if (i + 2 >= target.size() ||
        std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) {
      return std::nullopt;
    }
    path += static_cast<char>(value);
    i += 2;
  }
  return path;
}

std::string Head(const Response& response, bool keep_alive, std::optional<size_t> length) {
  const auto status = boost::beast::http::int_to_status(static_cast<unsigned>(response.status));
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", response.status,
                  std::string(boost::beast::http::obsolete_reason(status)), response.content_type);
  for (const auto& [key, value] : response.headers) head += fmt::format("{}: {}\r\n", key, value);
  head += length ? fmt::format("Content-Length: {}\r\n", *length)
                 : std::string("Transfer-Encoding: chunked\r\n");
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

std::string Chunk(std::string_view piece) {
  return fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
}

}  // namespace tonnage::http
