#include "checkpoint/json_events.h"

namespace tonnage {

Status JsonEvents::Read(std::string_view text) {
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
