#include "tokenizer/lines.h"

#include "base/json.h"

namespace tonnage {
namespace {

std::string ErrorLine(const Error& error) { return DumpJson(Json{{"error", error.message()}}); }

}  // namespace

std::string TokenizeLine(const Tokenizer& tokenizer, std::string_view line, bool add_special) {
  const Result<Json> json = ParseJson(line);
  if (!json.ok()) return ErrorLine(json.error());
  if (!json->is_string()) return ErrorLine(InvalidArgument("a line must be a JSON string"));
  const Result<std::vector<TokenId>> ids =
      tokenizer.Encode(json->get_ref<const std::string&>(), add_special);
  return ids.ok() ? DumpJson(Json(*ids)) : ErrorLine(ids.error());
}

std::string DetokenizeLine(const Tokenizer& tokenizer, std::string_view line, bool skip_special) {
  const Result<Json> json = ParseJson(line);
  if (!json.ok()) return ErrorLine(json.error());
  if (!json->is_array()) return ErrorLine(InvalidArgument("a line must be a JSON array of ids"));
  std::vector<TokenId> ids;
  for (const Json& item : *json) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > INT32_MAX) {
      return ErrorLine(InvalidArgument("{} is not a token id", DumpJson(item)));
    }
    ids.push_back(static_cast<TokenId>(item.get<std::uint64_t>()));
  }
  const Result<std::string> text = tokenizer.Decode(ids, skip_special);
  return text.ok() ? DumpJson(Json(*text)) : ErrorLine(text.error());
}

}  // namespace tonnage
