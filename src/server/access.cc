#include "server/access.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>

namespace tonnage {
namespace {

bool StartsWithIgnoringCase(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(), [](char l, char c) {
           return l == std::tolower(static_cast<unsigned char>(c));
         });
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view GivenKey(const http::Request& request) {
  constexpr std::string_view kBearer = "bearer ";
  if (const auto value = request.Header("Authorization");
      value && StartsWithIgnoringCase(*value, kBearer)) {
    return Trim(value->substr(kBearer.size()));
  }
  return Trim(request.Header("x-api-key").value_or(""));
}

}  // namespace

bool ApiKeys::Admit(const http::Request& request) const {
  if (keys_.empty()) return true;
  const std::string_view given = GivenKey(request);
  bool admitted = false;
  for (const std::string& key : keys_) {
    admitted |=
        key.size() == given.size() && CRYPTO_memcmp(key.data(), given.data(), key.size()) == 0;
  }
  return admitted;
}

Result<std::vector<std::string>> ParseApiKeys(std::string_view text) {
  std::vector<std::string> keys;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    const bool printable = std::all_of(line.begin(), line.end(), [](char c) {
      return std::isgraph(static_cast<unsigned char>(c)) != 0;
    });
    if (!printable) {
      return InvalidArgument("line {}: a key is one word of printable ASCII", number);
    }
    keys.emplace_back(line);
  }
  if (keys.empty()) return InvalidArgument("no key in it");
  return keys;
}

bool Cors::Allows(std::string_view origin) const {
  return std::any_of(origins_.begin(), origins_.end(), [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

bool Cors::Admit(const http::Request& request) const {
  const auto origin = request.Header("Origin");
  if (!origin || Allows(*origin)) return true;
  const size_t scheme = origin->find("://");
  return scheme != std::string_view::npos && origin->substr(scheme + 3) == request.Header("Host");
}

bool Cors::IsPreflight(const http::Request& request) {
  return request.method == "OPTIONS" && request.Header("Origin") &&
         request.Header("Access-Control-Request-Method");
}

http::Headers Cors::AnswerHeaders(const http::Request& request) const {
  const auto origin = request.Header("Origin");
  if (!origin || !Allows(*origin)) return {};
  return {{"Access-Control-Allow-Origin", std::string(*origin)},
          {"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"},
          {"Vary", "Origin"}};
}

http::Headers Cors::PreflightHeaders(const http::Request& request) const {
  if (AnswerHeaders(request).empty()) return {};
  return {
      {"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
      {"Access-Control-Allow-Headers", std::string(request.Header("Access-Control-Request-Headers")
                                                       .value_or("Authorization, Content-Type"))},
      {"Access-Control-Max-Age", "600"}};
}

}  // namespace tonnage
