#include "chat/arguments.h"

#include <algorithm>

namespace tonnage::chat {

bool Bind(Renderer& renderer, const Arguments& arguments, std::string_view function,
          std::span<const std::string_view> names, std::size_t required,
          std::size_t positional_only, Value* values) {
  if (arguments.positional.size() > names.size()) {
    renderer.Fail(fmt::format("{}() takes at most {} arguments, {} were given", function,
                              names.size(), arguments.positional.size()));
    return false;
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), values);
  for (const Keyword& keyword : arguments.keywords) {
    const auto it = std::find(names.begin() + static_cast<std::ptrdiff_t>(positional_only),
                              names.end(), keyword.name);
    if (it == names.end()) {
      renderer.Fail(fmt::format("{}() takes no keyword argument '{}'", function, keyword.name));
      return false;
    }
    Value& value = values[it - names.begin()];
    if (!value.is_missing()) {
      renderer.Fail(fmt::format("{}() got '{}' twice", function, keyword.name));
      return false;
    }
    value = keyword.value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (values[i].is_missing()) {
      renderer.Fail(fmt::format("{}() lacks its argument '{}'", function, names[i]));
      return false;
    }
  }
  return true;
}

bool BindNone(Renderer& renderer, const Arguments& arguments, std::string_view function) {
  return Bind(renderer, arguments, function, {}, 0, 0, nullptr);
}

std::optional<std::int64_t> IntegerArgument(Renderer& renderer, const Value& value,
                                            std::string_view function) {
  if (value.is_integral()) return value.integer();
  if (value.is_undefined()) {
    renderer.FailUndefined(value);
  } else {
    renderer.Fail(fmt::format("{}() wants an integer, not a {}", function, TypeName(value)));
  }
  return {};
}

bool TextArgument(Renderer& renderer, const Value& value, std::string_view function,
                  std::string_view* text) {
  if (value.is_string()) {
    *text = value.text();
    return true;
  }
  renderer.Fail(fmt::format("{}() wants a string, not a {}", function, TypeName(value)));
  return false;
}

}  // namespace tonnage::chat
