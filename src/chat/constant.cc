#include "chat/constant.h"

#include <algorithm>
#include <cstring>

#include "chat/filters.h"
#include "chat/text.h"

namespace tonnage::chat {
namespace {

bool AllConstant(std::span<Expr* const> items) {
  return std::all_of(items.begin(), items.end(),
                     [](const Expr* item) { return item == nullptr || IsConstant(*item); });
}

bool AllConstant(const ArgumentExprs& arguments) {
  for (const KeywordExpr& keyword : arguments.keywords) {
    if (!IsConstant(*keyword.value)) return false;
  }
  Expr* const more[] = {arguments.more_positional, arguments.more_keywords};
  return AllConstant(arguments.positional) && AllConstant(more);
}

}  // namespace

Value MakeConstantString(Arena* arena, std::string_view text, bool copy) {
  const char* data = text.data();
  if (copy) {
    char* bytes = arena->NewArray<char>(text.size());
    if (bytes == nullptr) return Value::Error();
    std::memcpy(bytes, text.data(), text.size());
    data = bytes;
  }
  return Value::Of(Kind::kString,
                   arena->New<String>(String{.data = data,
                                             .size = static_cast<std::uint32_t>(text.size()),
                                             .markup = false,
                                             .chars = CountChars(text),
                                             .used = nullptr,
                                             .capacity = 0}));
}

bool IsConstant(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConst:
      return true;
    case ExprKind::kName:
    case ExprKind::kNamespaceTarget:
    case ExprKind::kCall:
      return false;
    case ExprKind::kTuple:
    case ExprKind::kList:
    case ExprKind::kDict:
    case ExprKind::kConcat:
      return AllConstant(static_cast<const ItemsExpr&>(expr).items);
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      const auto& node = static_cast<const OperatorExpr&>(expr);
      return IsConstant(*node.left) && (node.right == nullptr || IsConstant(*node.right));
    }
    case ExprKind::kCompare: {
      const auto& node = static_cast<const CompareExpr&>(expr);
      return IsConstant(*node.first) && AllConstant(node.operands);
    }
    case ExprKind::kConditional: {
      const auto& node = static_cast<const ConditionalExpr&>(expr);
      return IsConstant(*node.test) && IsConstant(*node.then) && node.otherwise &&
             IsConstant(*node.otherwise);
    }
    case ExprKind::kAttribute:
      return IsConstant(*static_cast<const AttributeExpr&>(expr).object);
    case ExprKind::kItem: {
      const auto& node = static_cast<const ItemExpr&>(expr);
      return IsConstant(*node.object) && IsConstant(*node.index);
    }
    case ExprKind::kSlice: {
      const auto& node = static_cast<const SliceExpr&>(expr);
      Expr* const parts[] = {node.start, node.stop, node.step};
      return AllConstant(parts);
    }
    case ExprKind::kFilter: {
      const auto& node = static_cast<const FilterExpr&>(expr);
      return node.input && node.filter && !node.filter->needs_context && IsConstant(*node.input) &&
             AllConstant(node.arguments);
    }
    case ExprKind::kTest: {
      const auto& node = static_cast<const TestExpr&>(expr);
      return node.test && IsConstant(*node.input) && AllConstant(node.arguments);
    }
  }
  return false;
}

}  // namespace tonnage::chat
