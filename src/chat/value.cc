#include "chat/value.h"

namespace tonnage::chat {

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kError:
    case Kind::kMissing:
      return "missing";
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.string().markup ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return value.sequence().group ? "_GroupTuple" : "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kDictView: {
      const auto which = value.as<DictView>().which;
      return which == DictView::kKeys     ? "dict_keys"
             : which == DictView::kValues ? "dict_values"
                                          : "dict_items";
    }
    case Kind::kRange:
      return "range";
    case Kind::kSlice:
      return "slice";
    case Kind::kIterator:
      return "generator";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kMacro:
      return "Macro";
    case Kind::kFunction:
      return "function";
    case Kind::kMethod:
      return "builtin_function_or_method";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
  }
  return "object";
}

}  // namespace tonnage::chat
