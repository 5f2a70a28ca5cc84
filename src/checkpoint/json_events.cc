#include "checkpoint/json_events.h"

namespace tonnage {

namespace {

constexpr size_t kLongestTokenBytes = 1 << 20;

// Where a string or a number longer than the bound ends it, or nothing. The parser copies a token
// many times over before it refuses it, so what is not plausible must not reach it.
std::optional<size_t> FindLongToken(std::string_view text) {
  bool in_string = false;
  size_t token_bytes = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      in_string = !in_string;
      token_bytes = 0;
    } else {
      const bool inside =
          in_string || std::string_view("0123456789+-.eE").find(c) != std::string_view::npos;
      token_bytes = inside ? token_bytes + 1 : 0;
    }
    if (in_string && c == '\\') ++i;
    if (token_bytes > kLongestTokenBytes) return i;
  }
  return std::nullopt;
}

}  // namespace

Status JsonEvents::Read(std::string_view text) {
  if (const auto at = FindLongToken(text)) {
    return Unreadable("{}: the token at byte {} is longer than {} bytes", Where(), *at,
                      kLongestTokenBytes);
  }
  try {
    nlohmann::json_sax<Json>* events = this;
    const bool complete = Json::sax_parse(text.begin(), text.end(), events);
    if (!complete && !error_) return Unreadable("{}: malformed JSON", Where());
  } catch (const std::exception& e) {
    return Unreadable("{}: {}", Where(), e.what());
  }
  if (error_) return *error_;
  return {};
}

bool JsonEvents::Fail(Error error) {
  if (!error_) error_ = std::move(error);
  return false;
}

bool JsonEvents::Unexpected(std::string_view what) {
  return Fail(Unreadable("{}: {} does not belong here", Where(), what));
}

// The parser's own message repeats the token, which may be as long as the file.
bool JsonEvents::parse_error(size_t position, const std::string&, const Json::exception&) {
  return Fail(Unreadable("{}: malformed JSON at byte {} of the header", Where(), position));
}

}  // namespace tonnage
