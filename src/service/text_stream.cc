#include "service/text_stream.h"

#include <span>

namespace tonnage {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD: the character is not whole yet

// The most tokens that one character is waited for: a character has at most four bytes, and a
// stream of broken bytes must not be held back for ever.
constexpr std::size_t kMostHeldTokens = 8;

}  // namespace

Status TextStream::Push(TokenId id, std::string& out) {
  window_.push_back(id);
  ASSIGN_OR_RETURN(const std::string before,
                   tokenizer_->Decode(std::span(window_).first(given_), /*skip_special=*/true));
  ASSIGN_OR_RETURN(const std::string text, tokenizer_->Decode(window_, /*skip_special=*/true));
  const bool whole = !text.ends_with(kReplacement) || window_.size() - given_ >= kMostHeldTokens;
  if (text.size() <= before.size() || !whole) return {};
  out += text.substr(before.size());
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(given_));
  given_ = window_.size();
  return {};
}

Status TextStream::Finish(std::string& out) {
  ASSIGN_OR_RETURN(const std::string before,
                   tokenizer_->Decode(std::span(window_).first(given_), /*skip_special=*/true));
  ASSIGN_OR_RETURN(const std::string text, tokenizer_->Decode(window_, /*skip_special=*/true));
  if (text.size() > before.size()) out += text.substr(before.size());
  window_.clear();
  given_ = 0;
  return {};
}

}  // namespace tonnage
