#include "chat/convert.h"

#include <limits>

#include "chat/dict.h"

namespace tonnage::chat {
namespace {

Value FromArray(Renderer& renderer, const Json& json) {
  Value* items = renderer.arena().NewArray<Value>(json.size());
  if (items == nullptr) return renderer.FailOutOfMemory();
  std::size_t count = 0;
  for (const Json& item : json) {
    items[count] = FromJson(renderer, item);
    if (items[count++].is_error()) return Value::Error();
  }
  return renderer.Make(Kind::kList, Sequence{items, count, false});
}

Value FromObject(Renderer& renderer, const Json& json) {
  Dict* dict = NewDict(renderer, json.size());
  if (dict == nullptr) return Value::Error();
  for (const auto& [key, item] : json.items()) {
    const Value name = renderer.BorrowText(key);
    const Value value = name.is_error() ? name : FromJson(renderer, item);
    if (value.is_error() || !DictSet(renderer, dict, name, value)) return Value::Error();
  }
  return Value::Of(Kind::kDict, dict);
}

}  // namespace

Value FromJson(Renderer& renderer, const Json& json) {
  const Renderer::Depth depth(&renderer);
  if (!depth.Ok() || !renderer.Step()) return Value::Error();
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::Bool(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::Int(json.get<std::int64_t>());
    case Json::value_t::number_unsigned: {
      const auto number = json.get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return renderer.Fail(
            fmt::format("the variables hold {}, which does not fit in 64 bits", number));
      }
      return Value::Int(static_cast<std::int64_t>(number));
    }
    case Json::value_t::number_float:
      return Value::Float(json.get<double>());
    case Json::value_t::string:
      return renderer.BorrowText(json.get_ref<const std::string&>());
    case Json::value_t::array:
      return FromArray(renderer, json);
    case Json::value_t::object:
      return FromObject(renderer, json);
    case Json::value_t::null:
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return Value::None();
}

}  // namespace tonnage::chat
