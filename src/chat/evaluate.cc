// Expressions.
#include "chat/dict.h"
#include "chat/evaluator.h"
#include "chat/filters.h"
#include "chat/repr.h"
#include "chat/subscript.h"
#include "chat/tests.h"

namespace tonnage::chat {

Value Evaluator::Eval(const Expr& expr, Activation* activation) {
  if (expr.kind == ExprKind::kConst) return static_cast<const ConstExpr&>(expr).value;
  const Renderer::Depth depth(&renderer_);
  if (!depth.Ok() || !renderer_.Step()) {
    renderer_.LocateError(expr.position);
    return Value::Error();
  }
  const Value value = EvalKind(expr, activation);
  if (value.is_error() || renderer_.failed()) {
    renderer_.LocateError(expr.position);
    return Value::Error();
  }
  return value;
}

Value Evaluator::EvalKind(const Expr& expr, Activation* activation) {
  switch (expr.kind) {
    case ExprKind::kConst:
      return static_cast<const ConstExpr&>(expr).value;
    case ExprKind::kName: {
      const auto& name = static_cast<const NameExpr&>(expr);
      const Value& value = activation->at(name.place);
      return value.is_missing() ? renderer_.UndefinedVariable(name.name) : value;
    }
    case ExprKind::kNamespaceTarget:
      return renderer_.Fail("a namespace's attribute is no expression here");
    case ExprKind::kTuple:
      return EvalItems(static_cast<const ItemsExpr&>(expr), Kind::kTuple, activation);
    case ExprKind::kList:
      return EvalItems(static_cast<const ItemsExpr&>(expr), Kind::kList, activation);
    case ExprKind::kDict:
      return EvalDict(static_cast<const ItemsExpr&>(expr), activation);
    case ExprKind::kConcat:
      return EvalConcat(static_cast<const ItemsExpr&>(expr), activation);
    case ExprKind::kUnary:
      return EvalUnary(static_cast<const OperatorExpr&>(expr), activation);
    case ExprKind::kBinary:
      return EvalBinary(static_cast<const OperatorExpr&>(expr), activation);
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      const auto& node = static_cast<const OperatorExpr&>(expr);
      const Value left = Eval(*node.left, activation);
      if (left.is_error() || IsTrue(left) == (expr.kind == ExprKind::kOr)) return left;
      return Eval(*node.right, activation);
    }
    case ExprKind::kCompare:
      return EvalCompare(static_cast<const CompareExpr&>(expr), activation);
    case ExprKind::kConditional: {
      const auto& node = static_cast<const ConditionalExpr&>(expr);
      const Value test = Eval(*node.test, activation);
      if (test.is_error()) return test;
      if (IsTrue(test)) return Eval(*node.then, activation);
      if (node.otherwise) return Eval(*node.otherwise, activation);
      return renderer_.UndefinedWith(
          "the inline if-expression evaluated to false and no else section was defined.");
    }
    case ExprKind::kAttribute: {
      const auto& node = static_cast<const AttributeExpr&>(expr);
      const Value object = Eval(*node.object, activation);
      return object.is_error() ? object : GetAttribute(renderer_, object, node.name);
    }
    case ExprKind::kItem:
      return EvalItem(static_cast<const ItemExpr&>(expr), activation);
    case ExprKind::kSlice:
      return renderer_.Fail("a slice is no expression here");
    case ExprKind::kCall:
      return EvalCall(static_cast<const CallExpr&>(expr), nullptr, activation);
    case ExprKind::kFilter:
      return EvalFilter(static_cast<const FilterExpr&>(expr), activation);
    case ExprKind::kTest:
      return EvalTest(static_cast<const TestExpr&>(expr), activation);
  }
  return Value::Error();
}

Value Evaluator::EvalItems(const ItemsExpr& expr, Kind kind, Activation* activation) {
  Value* items = renderer_.arena().NewArray<Value>(expr.items.size());
  if (items == nullptr) return renderer_.FailOutOfMemory();
  for (std::size_t i = 0; i < expr.items.size(); ++i) {
    items[i] = Eval(*expr.items[i], activation);
    if (items[i].is_error()) return items[i];
  }
  return renderer_.Make(kind, Sequence{items, expr.items.size(), false});
}

Value Evaluator::EvalDict(const ItemsExpr& expr, Activation* activation) {
  Dict* dict = NewDict(renderer_, expr.items.size() / 2);
  for (std::size_t i = 0; i < expr.items.size(); i += 2) {
    const Value key = Eval(*expr.items[i], activation);
    const Value value = key.is_error() ? key : Eval(*expr.items[i + 1], activation);
    if (dict == nullptr || value.is_error() || !DictSet(renderer_, dict, key, value))
      return Value::Error();
  }
  return Value::Of(Kind::kDict, dict);
}

Value Evaluator::EvalConcat(const ItemsExpr& expr, Activation* activation) {
  static constexpr std::size_t kWorthGrowing = 256;
  const Value first = Eval(*expr.items[0], activation);
  if (first.is_error()) return first;
  const bool grow = first.is_string() && first.string().size >= kWorthGrowing;
  std::string text;
  if (!grow && !AppendText(renderer_, first, &text)) return Value::Error();
  for (std::size_t i = 1; i < expr.items.size(); ++i) {
    if (!AppendText(renderer_, Eval(*expr.items[i], activation), &text)) return Value::Error();
  }
  if (!grow) return renderer_.Text(text);
  const Value plain = ToText(renderer_, first);
  return plain.is_error() ? plain : renderer_.Concatenate(plain, text);
}

Value Evaluator::EvalUnary(const OperatorExpr& expr, Activation* activation) {
  const Value operand = Eval(*expr.left, activation);
  if (operand.is_error()) return operand;
  return expr.op == Operator::kNot ? Value::Bool(!IsTrue(operand))
                                   : Sign(renderer_, expr.op, operand);
}

Value Evaluator::EvalBinary(const OperatorExpr& expr, Activation* activation) {
  const Value left = Eval(*expr.left, activation);
  if (left.is_error()) return left;
  const Value right = Eval(*expr.right, activation);
  return right.is_error() ? right : Arithmetic(renderer_, expr.op, left, right);
}

Value Evaluator::EvalCompare(const CompareExpr& expr, Activation* activation) {
  Value left = Eval(*expr.first, activation);
  if (left.is_error()) return left;
  for (std::size_t i = 0; i < expr.ops.size(); ++i) {
    const Value right = Eval(*expr.operands[i], activation);
    if (right.is_error()) return right;
    const Truth holds = Compare(renderer_, expr.ops[i], left, right);
    if (holds == Truth::kFailed) return Value::Error();
    if (holds == Truth::kFalse) return Value::Bool(false);
    left = right;
  }
  return Value::Bool(true);
}

Value Evaluator::EvalItem(const ItemExpr& expr, Activation* activation) {
  const Value object = Eval(*expr.object, activation);
  if (object.is_error()) return object;
  if (expr.index->kind != ExprKind::kSlice) {
    const Value index = Eval(*expr.index, activation);
    return index.is_error() ? index : GetItem(renderer_, object, index);
  }
  const auto& parts = static_cast<const SliceExpr&>(*expr.index);
  const auto part = [&](const Expr* e) { return e ? Eval(*e, activation) : Value::None(); };
  const Slice slice{part(parts.start), part(parts.stop), part(parts.step)};
  return renderer_.failed() ? Value::Error() : GetSlice(renderer_, object, slice, expr.constant);
}

Value Evaluator::EvalFilter(const FilterExpr& expr, Activation* activation) {
  const Value input = expr.input ? Eval(*expr.input, activation) : captured_;
  if (input.is_error()) return input;
  if (expr.filter == nullptr)
    return renderer_.Fail(fmt::format("there is no filter '{}'", expr.name));
  Arguments arguments;
  if (!EvalArguments(expr.arguments, nullptr, &arguments, activation)) return Value::Error();
  return expr.filter->call(renderer_, input, arguments);
}

Value Evaluator::EvalTest(const TestExpr& expr, Activation* activation) {
  const Value input = Eval(*expr.input, activation);
  if (input.is_error()) return input;
  if (expr.test == nullptr) return renderer_.Fail(fmt::format("there is no test '{}'", expr.name));
  Arguments arguments;
  if (!EvalArguments(expr.arguments, nullptr, &arguments, activation)) return Value::Error();
  const Truth passes = expr.test->call(renderer_, input, arguments);
  return passes == Truth::kFailed ? Value::Error() : Value::Bool(passes == Truth::kTrue);
}

}  // namespace tonnage::chat
