#include "chat/attribute_path.h"

#include "chat/iterate.h"
#include "chat/number.h"
#include "chat/strings.h"
#include "chat/subscript.h"
#include "chat/text.h"

namespace tonnage::chat {

bool MakePath(Renderer& renderer, const Value& attribute, std::span<const Value>* path) {
  ListBuilder parts(renderer);
  if (attribute.is_string()) {
    Split(attribute.text(), ".", -1, [&](std::string_view part) {
      const auto index = IsDigitText(part) ? ParseInteger(part, 10) : std::nullopt;
      return parts.Add(index ? Value::Int(*index) : renderer.BorrowText(part));
    });
  } else if (!attribute.is_none() && !attribute.is_missing()) {
    parts.Add(attribute);
  }
  *path = parts.items();
  return !renderer.failed();
}

Value FollowPath(Renderer& renderer, Value item, std::span<const Value> path,
                 const Value& otherwise) {
  for (const Value& part : path) {
    item = GetItem(renderer, item, part);
    if (item.is_undefined() && !otherwise.is_missing() && !otherwise.is_none()) item = otherwise;
    if (item.is_error()) break;
  }
  return item;
}

Value IgnoreCase(Renderer& renderer, const Value& value) {
  if (!value.is_string()) return value;
  if (!renderer.StepText(value.text().size() * 4)) return Value::Error();
  return renderer.Text(Lower(value.text()));
}

}  // namespace tonnage::chat
