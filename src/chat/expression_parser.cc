#include "chat/expression_parser.h"

#include "chat/constant.h"

namespace tonnage::chat {

bool ExpressionParser::Nesting::TooDeep() const {
  if (parser_->nesting_ <= kMaxTreeDepth) return false;
  parser_->TooDeep(parser_->current().position);
  return true;
}

bool ExpressionParser::SkipName(std::string_view name) {
  const bool is = IsName(name);
  if (is) Next();
  return is;
}

bool ExpressionParser::SkipOperator(std::string_view op) {
  const bool is = IsOperator(op);
  if (is) Next();
  return is;
}

bool ExpressionParser::ExpectName(std::string_view name) {
  if (SkipName(name)) return true;
  Unexpected(name);
  return false;
}

bool ExpressionParser::ExpectOperator(std::string_view op) {
  if (SkipOperator(op)) return true;
  Unexpected(op);
  return false;
}

const Token* ExpressionParser::ExpectAnyName() {
  if (Is(TokenKind::kName)) return &Next();
  return Unexpected("a name");
}

namespace {

std::string_view Describe(TokenKind kind) {
  switch (kind) {
    case TokenKind::kData:
      return "text";
    case TokenKind::kBlockBegin:
      return "{%";
    case TokenKind::kBlockEnd:
      return "%}";
    case TokenKind::kVariableBegin:
      return "{{";
    case TokenKind::kVariableEnd:
      return "}}";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kInteger:
      return "an integer";
    case TokenKind::kFloat:
      return "a float";
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kName:
    case TokenKind::kOperator:
      break;
  }
  return {};
}

}  // namespace

bool ExpressionParser::ExpectKind(TokenKind kind) {
  if (Is(kind)) {
    Next();
    return true;
  }
  Unexpected(Describe(kind));
  return false;
}

std::nullptr_t ExpressionParser::Fail(Position position, std::string message) {
  if (!error_) error_ = ErrorAt(position, message);
  return nullptr;
}

std::nullptr_t ExpressionParser::Unexpected(std::string_view expected) {
  const std::string_view kind = Describe(current().kind);
  return Fail(current().position,
              fmt::format("expected {}, got {}", expected, kind.empty() ? current().text : kind));
}

std::nullptr_t ExpressionParser::TooDeep(Position position) {
  return Fail(position, fmt::format("nested deeper than {} levels", kMaxTreeDepth));
}

bool ExpressionParser::IsTupleEnd(const TupleOptions& options) const {
  return Is(TokenKind::kVariableEnd) || Is(TokenKind::kBlockEnd) || IsOperator(")") ||
         (!options.end_name.empty() && IsName(options.end_name));
}

Expr* ExpressionParser::ParseTuple(const TupleOptions& options) {
  const Nesting nesting(this);
  if (nesting.TooDeep()) return nullptr;
  const Position position = current().position;
  std::vector<Expr*> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty() && !ExpectOperator(",")) return nullptr;
    if (IsTupleEnd(options)) break;
    Expr* item =
        options.targets ? ParsePrimary(options.namespaces) : ParseExpression(options.conditional);
    if (item == nullptr) return nullptr;
    items.push_back(item);
    if (!IsOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return items[0];
  if (!is_tuple && !options.parenthesized) return Unexpected("an expression");
  ItemsExpr* tuple = New(ItemsExpr{{ExprKind::kTuple, position}, {}});
  if (tuple == nullptr || !Copy(items, &tuple->items)) return nullptr;
  return DeepenBy(tuple, tuple->items);
}

Expr* ExpressionParser::ParseExpression(bool conditional) {
  const Nesting nesting(this);
  if (nesting.TooDeep()) return nullptr;
  return conditional ? ParseConditional() : ParseOr();
}

bool ExpressionParser::MakeStore(Expr* target) {
  switch (target->kind) {
    case ExprKind::kName:
      static_cast<NameExpr*>(target)->use = NameUse::kStore;
      return true;
    case ExprKind::kNamespaceTarget:
      return true;
    case ExprKind::kTuple:
      for (Expr* item : static_cast<ItemsExpr*>(target)->items) {
        if (!MakeStore(item)) return false;
      }
      return true;
    default:
      Fail(target->position, "this cannot be assigned to");
      return false;
  }
}

Expr* ExpressionParser::ParseAssignTarget(bool namespaces, std::string_view end_name) {
  Expr* target = ParseTuple({.targets = true, .namespaces = namespaces, .end_name = end_name});
  if (target == nullptr || !MakeStore(target)) return nullptr;
  return target;
}

NameExpr* ExpressionParser::ParseNameTarget(NameUse use) {
  const Token* token = ExpectAnyName();
  if (token == nullptr) return nullptr;
  static constexpr std::string_view kConstants[] = {"true", "false", "none",
                                                    "True", "False", "None"};
  for (const std::string_view constant : kConstants) {
    if (token->text == constant) return Fail(token->position, "this cannot be assigned to");
  }
  return New(NameExpr{{ExprKind::kName, token->position}, token->text, use, {}});
}

Expr* ExpressionParser::ParseConditional() {
  Position position = current().position;
  Expr* value = ParseOr();
  while (value != nullptr && SkipName("if")) {
    Expr* test = ParseOr();
    if (test == nullptr) return nullptr;
    Expr* otherwise = nullptr;
    if (SkipName("else")) {
      otherwise = ParseExpression();
      if (otherwise == nullptr) return nullptr;
    }
    value = Deepen(New(ConditionalExpr{{ExprKind::kConditional, position}, test, value, otherwise}),
                   {test, value, otherwise});
    position = current().position;
  }
  return value;
}

Expr* ExpressionParser::Binary(ExprKind kind, Operator op, Position position, Expr* left,
                               Expr* right) {
  if (left == nullptr || right == nullptr) return nullptr;
  return Deepen(New(OperatorExpr{{kind, position}, op, left, right}), {left, right});
}

Expr* ExpressionParser::ParseOr() {
  Expr* left = ParseAnd();
  while (left != nullptr && IsName("or")) {
    const Position position = Next().position;
    left = Binary(ExprKind::kOr, Operator::kNot, position, left, ParseAnd());
  }
  return left;
}

Expr* ExpressionParser::ParseAnd() {
  Expr* left = ParseNot();
  while (left != nullptr && IsName("and")) {
    const Position position = Next().position;
    left = Binary(ExprKind::kAnd, Operator::kNot, position, left, ParseNot());
  }
  return left;
}

Expr* ExpressionParser::ParseNot() {
  if (!IsName("not")) return ParseCompare();
  const Nesting nesting(this);
  if (nesting.TooDeep()) return nullptr;
  const Position position = Next().position;
  Expr* operand = ParseNot();
  if (operand == nullptr) return nullptr;
  return Deepen(New(OperatorExpr{{ExprKind::kUnary, position}, Operator::kNot, operand, nullptr}),
                {operand});
}

namespace {

std::optional<Operator> CompareOperator(const Token& token) {
  if (token.kind != TokenKind::kOperator) return {};
  if (token.text == "==") return Operator::kEqual;
  if (token.text == "!=") return Operator::kNotEqual;
  if (token.text == "<") return Operator::kLess;
  if (token.text == "<=") return Operator::kLessEqual;
  if (token.text == ">") return Operator::kGreater;
  if (token.text == ">=") return Operator::kGreaterEqual;
  return {};
}

}  // namespace

Expr* ExpressionParser::ParseCompare() {
  const Position position = current().position;
  Expr* first = ParseSum();
  std::vector<Operator> ops;
  std::vector<Expr*> operands;
  while (first != nullptr) {
    if (const auto op = CompareOperator(current())) {
      ops.push_back(*op);
      Next();
    } else if (SkipName("in")) {
      ops.push_back(Operator::kIn);
    } else if (IsName("not") && IsName(ahead(), "in")) {
      ops.push_back(Operator::kNotIn);
      Next();
      Next();
    } else {
      break;
    }
    operands.push_back(ParseSum());
    if (operands.back() == nullptr) return nullptr;
  }
  if (ops.empty()) return first;
  CompareExpr* node = New(CompareExpr{{ExprKind::kCompare, position}, first, {}, {}});
  if (node == nullptr || !Copy(ops, &node->ops) || !Copy(operands, &node->operands)) return nullptr;
  return Deepen(DeepenBy(node, node->operands), {first});
}

Expr* ExpressionParser::ParseSum() {
  Expr* left = ParseConcat();
  while (left != nullptr && (IsOperator("+") || IsOperator("-"))) {
    const Token& op = Next();
    left = Binary(ExprKind::kBinary, op.text == "+" ? Operator::kAdd : Operator::kSubtract,
                  op.position, left, ParseConcat());
  }
  return left;
}

Expr* ExpressionParser::ParseConcat() {
  const Position position = current().position;
  Expr* first = ParseProduct();
  if (first == nullptr || !IsOperator("~")) return first;
  std::vector<Expr*> items = {first};
  while (SkipOperator("~")) {
    items.push_back(ParseProduct());
    if (items.back() == nullptr) return nullptr;
  }
  ItemsExpr* node = New(ItemsExpr{{ExprKind::kConcat, position}, {}});
  if (node == nullptr || !Copy(items, &node->items)) return nullptr;
  return DeepenBy(node, node->items);
}

Expr* ExpressionParser::ParseProduct() {
  Expr* left = ParsePower();
  while (left != nullptr) {
    Operator op;
    if (IsOperator("*")) {
      op = Operator::kMultiply;
    } else if (IsOperator("/")) {
      op = Operator::kDivide;
    } else if (IsOperator("//")) {
      op = Operator::kFloorDivide;
    } else if (IsOperator("%")) {
      op = Operator::kModulo;
    } else {
      break;
    }
    const Position position = Next().position;
    left = Binary(ExprKind::kBinary, op, position, left, ParsePower());
  }
  return left;
}

Expr* ExpressionParser::ParsePower() {
  Expr* left = ParseUnary(true);
  while (left != nullptr && IsOperator("**")) {
    const Position position = Next().position;
    left = Binary(ExprKind::kBinary, Operator::kPower, position, left, ParseUnary(true));
  }
  return left;
}

Expr* ExpressionParser::ParseUnary(bool with_filter) {
  Expr* node = nullptr;
  if (IsOperator("-") || IsOperator("+")) {
    const Nesting nesting(this);
    if (nesting.TooDeep()) return nullptr;
    const Token& op = Next();
    Expr* operand = ParseUnary(false);
    if (operand == nullptr) return nullptr;
    node = Deepen(New(OperatorExpr{{ExprKind::kUnary, op.position},
                                   op.text == "-" ? Operator::kMinus : Operator::kPlus,
                                   operand,
                                   nullptr}),
                  {operand});
  } else {
    node = ParsePrimary(false);
  }
  node = ParsePostfix(node);
  return with_filter ? ParseFilterChain(node) : node;
}

Expr* ExpressionParser::Constant(Position position, Value value) {
  return New(ConstExpr{{ExprKind::kConst, position}, value});
}

Expr* ExpressionParser::ParsePrimary(bool namespaces) {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kName:
      return ParseName(namespaces);
    case TokenKind::kString: {
      std::string_view text = Next().text;
      std::string joined;
      while (Is(TokenKind::kString)) {
        if (joined.empty()) joined = text;
        joined += Next().text;
      }
      if (!joined.empty()) text = joined;
      return Constant(token.position, MakeConstantString(arena_, text, !joined.empty()));
    }
    case TokenKind::kInteger:
      return Constant(token.position, Value::Int(Next().integer));
    case TokenKind::kFloat:
      return Constant(token.position, Value::Float(Next().number));
    case TokenKind::kOperator:
      if (token.text == "[") return ParseList();
      if (token.text == "{") return ParseDict();
      if (token.text == "(") {
        Next();
        Expr* node = ParseTuple({.parenthesized = true});
        return node != nullptr && ExpectOperator(")") ? node : nullptr;
      }
      [[fallthrough]];
    default:
      return Unexpected("an expression");
  }
}

Expr* ExpressionParser::ParseName(bool namespaces) {
  const Token& token = Next();
  if (token.text == "true" || token.text == "True")
    return Constant(token.position, Value::Bool(true));
  if (token.text == "false" || token.text == "False")
    return Constant(token.position, Value::Bool(false));
  if (token.text == "none" || token.text == "None") return Constant(token.position, Value::None());
  if (namespaces && SkipOperator(".")) {
    const Token* attribute = ExpectAnyName();
    if (attribute == nullptr) return nullptr;
    return New(NamespaceTargetExpr{
        {ExprKind::kNamespaceTarget, token.position}, token.text, attribute->text, {}});
  }
  return New(NameExpr{{ExprKind::kName, token.position}, token.text, NameUse::kLoad, {}});
}

Expr* ExpressionParser::ParseList() {
  const Position position = Next().position;
  std::vector<Expr*> items;
  while (!IsOperator("]")) {
    if (!items.empty() && !ExpectOperator(",")) return nullptr;
    if (IsOperator("]")) break;
    items.push_back(ParseExpression());
    if (items.back() == nullptr) return nullptr;
  }
  Next();
  ItemsExpr* node = New(ItemsExpr{{ExprKind::kList, position}, {}});
  if (node == nullptr || !Copy(items, &node->items)) return nullptr;
  return DeepenBy(node, node->items);
}

Expr* ExpressionParser::ParseDict() {
  const Position position = Next().position;
  std::vector<Expr*> items;
  while (!IsOperator("}")) {
    if (!items.empty() && !ExpectOperator(",")) return nullptr;
    if (IsOperator("}")) break;
    items.push_back(ParseExpression());
    if (items.back() == nullptr || !ExpectOperator(":")) return nullptr;
    items.push_back(ParseExpression());
    if (items.back() == nullptr) return nullptr;
  }
  Next();
  ItemsExpr* node = New(ItemsExpr{{ExprKind::kDict, position}, {}});
  if (node == nullptr || !Copy(items, &node->items)) return nullptr;
  return DeepenBy(node, node->items);
}

}  // namespace tonnage::chat
