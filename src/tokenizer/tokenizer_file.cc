#include "tokenizer/tokenizer_file.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tonnage {
namespace {

constexpr std::size_t kMaxDepth = 200;
// Beside the vocabulary no object in such a file is large, and ours are searched from the front.
constexpr std::size_t kMaxMembers = 4096;

// A decimal fraction as the reference's JSON parser takes it, which is not always the nearest
// double: all digits that fit into 64 bits as one integer, then one multiplication or division by a
// power of ten. Segmentations with equal sums of scores are told apart by such last bits. `text` is
// a number as JSON has it.
double ReferenceDouble(std::string_view text) {
  std::uint64_t digits = 0;
  std::int64_t exponent = 0;
  bool full = false, fraction = false;
  std::size_t i = text.starts_with('-') ? 1 : 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    const auto digit = static_cast<std::uint64_t>(text[i] - '0');
    full = full || digits > (UINT64_MAX - digit) / 10;
    if (!full) digits = digits * 10 + digit;
    // Digits that no longer fit count before the point and are forgotten behind it.
    if (full ? !fraction : fraction) exponent += full ? 1 : -1;
  }
  if (i < text.size()) {
    std::int64_t written = 0;
    const bool negative = text[++i] == '-';
    if (text[i] == '-' || text[i] == '+') ++i;
    for (; i < text.size(); ++i)
      written = std::min<std::int64_t>(written * 10 + (text[i] - '0'), 100000);
    exponent += negative ? -written : written;
  }
  auto value = static_cast<double>(digits);
  for (; exponent < -308 && value != 0; exponent += 308) value /= 1e308;
  const double power =
      std::pow(10.0, static_cast<double>(std::min<std::int64_t>(std::abs(exponent), 309)));
  if (value != 0) value = exponent >= 0 ? value * power : value / power;
  return text.starts_with('-') ? -value : value;
}

// Receives the parser's events. Every one of them returns whether to go on; the first fault is kept
// in error().
class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(TokenizerFile& file) : file_(file) {}
  const std::optional<Error>& error() const { return error_; }

  bool null() override { return Value(Json()); }
  bool boolean(bool value) override { return Value(Json(value)); }
  bool number_integer(number_integer_t value) override {
    return list_ == List::kNone ? Value(Json(value)) : Number(static_cast<double>(value), false);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return list_ == List::kNone ? Value(Json(value)) : Number(static_cast<double>(value), true);
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return list_ == List::kNone ? Value(Json(value)) : Number(ReferenceDouble(text), false);
  }
  bool string(string_t& value) override {
    return list_ == List::kNone ? Value(Json(std::move(value))) : Text(std::move(value));
  }
  bool binary(binary_t&) override { return Fail("binary data"); }

  bool start_object(std::size_t) override {
    if (list_ != List::kNone) return Fail("an object inside model.{}", ListName());
    if (InModel() && key_ == "vocab") {
      file_.vocab.clear();
      file_.has_vocab = true;
      return Enter(List::kVocab);
    }
    return Open(Json::object());
  }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return Leave(); }
  bool start_array(std::size_t) override {
    if (list_ == List::kScores || list_ == List::kMerges) {
      if (in_item_) return Fail("a list inside an entry of model.{}", ListName());
      in_item_ = true;
      parts_.clear();
      score_.reset();
      return true;
    }
    if (list_ != List::kNone) return Fail("a list inside model.{}", ListName());
    if (InModel() && key_ == "vocab") {
      file_.scored_vocab.clear();
      file_.has_vocab = true;
      return Enter(List::kScores);
    }
    if (InModel() && key_ == "merges") {
      file_.merges.clear();
      file_.has_merges = true;
      return Enter(List::kMerges);
    }
    return Open(Json::array());
  }
  bool end_array() override { return in_item_ ? EndItem() : Leave(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    error_ = Unreadable("malformed JSON at byte {}: {}", position, e.what());
    return false;
  }

 private:
  enum class List { kNone, kVocab, kScores, kMerges };

  template <typename... Args>
  bool Fail(fmt::format_string<Args...> format, Args&&... args) {
    error_ = Unreadable("{}", fmt::format(format, std::forward<Args>(args)...));
    return false;
  }
  const char* ListName() const { return list_ == List::kMerges ? "merges" : "vocab"; }
  bool InModel() const { return stack_.size() == 2 && top_key_ == "model"; }

  bool Enter(List list) {
    list_ = list;
    return true;
  }
  bool Leave() {
    if (list_ != List::kNone) {
      list_ = List::kNone;
    } else {
      stack_.pop_back();
    }
    return true;
  }

  // Puts a value where the JSON has it; where it is now goes to last_.
  bool Value(Json value) {
    if (list_ != List::kNone) return Fail("an entry of model.{} has the wrong type", ListName());
    if (stack_.empty()) {
      file_.rest = std::move(value);
      last_ = &file_.rest;
    } else if (stack_.back()->is_array()) {
      stack_.back()->push_back(std::move(value));
      last_ = &stack_.back()->back();
    } else {
      if (stack_.back()->size() >= kMaxMembers)
        return Fail("an object of over {} members", kMaxMembers);
      last_ = &(*stack_.back())[key_];
      *last_ = std::move(value);
    }
    return true;
  }
  bool Open(Json container) {
    if (stack_.size() >= kMaxDepth) return Fail("nested deeper than {}", kMaxDepth);
    if (stack_.size() == 1) top_key_ = key_;
    if (!Value(std::move(container))) return false;
    stack_.push_back(last_);
    return true;
  }

  bool Number(double value, bool is_id) {
    if (list_ == List::kVocab) {
      if (!is_id || value > INT32_MAX)
        return Fail("model.vocab: the id of `{}` is {}", key_, value);
      file_.vocab.emplace_back(std::move(key_), static_cast<TokenId>(value));
      return true;
    }
    if (list_ == List::kMerges || !in_item_ || score_ || parts_.size() != 1) {
      return Fail("a number where model.{} has none", ListName());
    }
    score_ = value;
    return true;
  }

  bool Text(std::string value) {
    if (list_ == List::kVocab) return Fail("model.vocab: the id of `{}` is a text", key_);
    if (in_item_) {
      if (score_) return Fail("model.vocab: a text behind the score");
      parts_.push_back(std::move(value));
      return true;
    }
    if (list_ == List::kScores) return Fail("model.vocab: a text where [token, score] should be");
    // The older notation: both parts with a space between; the first line may be a version.
    if (value.starts_with("#version")) return true;
    const std::size_t space = value.find(' ');
    if (space == std::string::npos || value.find(' ', space + 1) != std::string::npos) {
      return Fail("model.merges: `{}` is not two tokens with a space between", value);
    }
    file_.merges.emplace_back(value.substr(0, space), value.substr(space + 1));
    return true;
  }

  bool EndItem() {
    in_item_ = false;
    if (list_ == List::kMerges) {
      if (parts_.size() != 2) return Fail("model.merges: a merge of {} tokens", parts_.size());
      file_.merges.emplace_back(std::move(parts_[0]), std::move(parts_[1]));
      return true;
    }
    if (parts_.size() != 1 || !score_)
      return Fail("model.vocab: an entry that is not [token, score]");
    file_.scored_vocab.emplace_back(std::move(parts_[0]), *score_);
    return true;
  }

  TokenizerFile& file_;
  std::optional<Error> error_;
  std::vector<Json*> stack_;
  Json* last_ = nullptr;
  std::string key_, top_key_;
  List list_ = List::kNone;
  bool in_item_ = false;
  std::vector<std::string> parts_;
  std::optional<double> score_;
};

}  // namespace

Result<TokenizerFile> ReadTokenizerFile(std::string_view text) {
  TokenizerFile file;
  Reader reader(file);
  try {
    if (!Json::sax_parse(text, &reader)) {
      return reader.error().value_or(Unreadable("malformed JSON"));
    }
  } catch (const std::exception& e) {
    return Unreadable("malformed JSON: {}", e.what());
  }
  if (!file.rest.is_object()) return Unreadable("tokenizer.json is not an object");
  return file;
}

}  // namespace tonnage
