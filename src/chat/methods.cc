#include "chat/methods.h"

#include <algorithm>

namespace tonnage::chat {
namespace {

std::span<const Method> MethodsOf(Kind kind) {
  switch (kind) {
    case Kind::kString:
      return StringMethods();
    case Kind::kList:
      return ListMethods();
    case Kind::kTuple:
      return TupleMethods();
    case Kind::kDict:
      return DictMethods();
    case Kind::kRange:
      return RangeMethods();
    case Kind::kBool:
    case Kind::kInt:
      return IntegerMethods();
    case Kind::kFloat:
      return FloatMethods();
    case Kind::kCycler:
      return CyclerMethods();
    default:
      return {};
  }
}

}  // namespace

const Method* FindMethod(Kind kind, std::string_view name) {
  const auto methods = MethodsOf(kind);
  const auto it =
      std::lower_bound(methods.begin(), methods.end(), name,
                       [](const Method& method, std::string_view n) { return method.name < n; });
  return it != methods.end() && it->name == name ? &*it : nullptr;
}

}  // namespace tonnage::chat
