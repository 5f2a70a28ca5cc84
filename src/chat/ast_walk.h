// Visits the children of expressions, in the order in which Jinja's own passes see them.
#pragma once

#include "chat/ast.h"

namespace tonnage::chat {

template <typename Visit>
void ForEachArgument(const ArgumentExprs& arguments, Visit&& visit) {
  for (Expr* argument : arguments.positional) visit(*argument);
  for (const KeywordExpr& keyword : arguments.keywords) visit(*keyword.value);
  if (arguments.more_positional) visit(*arguments.more_positional);
  if (arguments.more_keywords) visit(*arguments.more_keywords);
}

template <typename Visit>
void ForEachChild(const Expr& expr, Visit&& visit) {
  auto maybe = [&visit](Expr* child) {
    if (child != nullptr) visit(*child);
  };
  switch (expr.kind) {
    case ExprKind::kConst:
    case ExprKind::kName:
    case ExprKind::kNamespaceTarget:
      break;
    case ExprKind::kTuple:
    case ExprKind::kList:
    case ExprKind::kDict:
    case ExprKind::kConcat:
      for (Expr* item : static_cast<const ItemsExpr&>(expr).items) visit(*item);
      break;
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kAnd:
    case ExprKind::kOr:
      visit(*static_cast<const OperatorExpr&>(expr).left);
      maybe(static_cast<const OperatorExpr&>(expr).right);
      break;
    case ExprKind::kCompare:
      visit(*static_cast<const CompareExpr&>(expr).first);
      for (Expr* operand : static_cast<const CompareExpr&>(expr).operands) visit(*operand);
      break;
    case ExprKind::kConditional:
      visit(*static_cast<const ConditionalExpr&>(expr).test);
      visit(*static_cast<const ConditionalExpr&>(expr).then);
      maybe(static_cast<const ConditionalExpr&>(expr).otherwise);
      break;
    case ExprKind::kAttribute:
      visit(*static_cast<const AttributeExpr&>(expr).object);
      break;
    case ExprKind::kItem:
      visit(*static_cast<const ItemExpr&>(expr).object);
      visit(*static_cast<const ItemExpr&>(expr).index);
      break;
    case ExprKind::kSlice:
      maybe(static_cast<const SliceExpr&>(expr).start);
      maybe(static_cast<const SliceExpr&>(expr).stop);
      maybe(static_cast<const SliceExpr&>(expr).step);
      break;
    case ExprKind::kCall:
      visit(*static_cast<const CallExpr&>(expr).callee);
      ForEachArgument(static_cast<const CallExpr&>(expr).arguments, visit);
      break;
    case ExprKind::kFilter:
      maybe(static_cast<const FilterExpr&>(expr).input);
      ForEachArgument(static_cast<const FilterExpr&>(expr).arguments, visit);
      break;
    case ExprKind::kTest:
      visit(*static_cast<const TestExpr&>(expr).input);
      ForEachArgument(static_cast<const TestExpr&>(expr).arguments, visit);
      break;
  }
}

}  // namespace tonnage::chat
