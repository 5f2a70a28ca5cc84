// What follows a primary expression: attributes, subscripts, calls, filters and tests.
#include "chat/constant.h"
#include "chat/expression_parser.h"
#include "chat/filters.h"
#include "chat/tests.h"

namespace tonnage::chat {

Expr* ExpressionParser::ParsePostfix(Expr* node) {
  while (node != nullptr) {
    if (IsOperator(".") || IsOperator("[")) {
      node = ParseSubscript(node);
    } else if (IsOperator("(")) {
      node = ParseCall(node);
    } else {
      break;
    }
  }
  return node;
}

Expr* ExpressionParser::ParseFilterChain(Expr* node) {
  while (node != nullptr) {
    if (IsOperator("|")) {
      node = ParseFilter(node, false);
    } else if (IsName("is")) {
      node = ParseTest(node);
    } else if (IsOperator("(")) {
      node = ParseCall(node);
    } else {
      break;
    }
  }
  return node;
}

Expr* ExpressionParser::ParseSubscript(Expr* node) {
  const Token& token = Next();
  if (token.text == ".") {
    const Token& attribute = Next();
    if (attribute.kind == TokenKind::kName) {
      return Deepen(
          New(AttributeExpr{{ExprKind::kAttribute, attribute.position}, node, attribute.text}),
          {node});
    }
    if (attribute.kind != TokenKind::kInteger) {
      return Fail(attribute.position, "expected a name or a number after '.'");
    }
    Expr* index = Constant(attribute.position, Value::Int(attribute.integer));
    if (index == nullptr) return nullptr;
    return Deepen(New(ItemExpr{{ExprKind::kItem, token.position}, node, index, false}), {node});
  }
  std::vector<Expr*> indices;
  bool slice = false;
  while (!IsOperator("]")) {
    if (!indices.empty() && !ExpectOperator(",")) return nullptr;
    indices.push_back(ParseSubscribed());
    if (indices.back() == nullptr) return nullptr;
    slice = slice || indices.back()->kind == ExprKind::kSlice;
  }
  Next();
  Expr* index = indices.size() == 1 ? indices[0] : nullptr;
  if (index == nullptr) {
    if (slice) return Fail(token.position, "a slice cannot be one of several subscripts");
    ItemsExpr* tuple = New(ItemsExpr{{ExprKind::kTuple, token.position}, {}});
    if (tuple == nullptr || !Copy(indices, &tuple->items)) return nullptr;
    index = DeepenBy(tuple, tuple->items);
    if (index == nullptr) return nullptr;
  }
  const bool constant = IsConstant(*node) && IsConstant(*index);
  return Deepen(New(ItemExpr{{ExprKind::kItem, token.position}, node, index, constant}),
                {node, index});
}

Expr* ExpressionParser::ParseSubscribed() {
  const Position position = current().position;
  Expr* start = nullptr;
  if (!IsOperator(":")) {
    start = ParseExpression();
    if (start == nullptr || !IsOperator(":")) return start;
  }
  Next();
  Expr* stop = nullptr;
  if (!IsOperator(":") && !IsOperator("]") && !IsOperator(",")) {
    stop = ParseExpression();
    if (stop == nullptr) return nullptr;
  }
  Expr* step = nullptr;
  if (SkipOperator(":") && !IsOperator("]") && !IsOperator(",")) {
    step = ParseExpression();
    if (step == nullptr) return nullptr;
  }
  return Deepen(New(SliceExpr{{ExprKind::kSlice, position}, start, stop, step}),
                {start, stop, step});
}

bool ExpressionParser::ParseArguments(ArgumentExprs* arguments) {
  const Position begin = current().position;
  if (!ExpectOperator("(")) return false;
  std::vector<Expr*> positional;
  std::vector<KeywordExpr> keywords;
  for (bool first = true; !IsOperator(")"); first = false) {
    if (!first) {
      if (!ExpectOperator(",")) return false;
      if (IsOperator(")")) break;
    }
    if (!ParseArgument(&positional, &keywords, arguments, begin)) return false;
  }
  Next();
  return Copy(positional, &arguments->positional) && Copy(keywords, &arguments->keywords);
}

bool ExpressionParser::ParseArgument(std::vector<Expr*>* positional,
                                     std::vector<KeywordExpr>* keywords, ArgumentExprs* arguments,
                                     Position begin) {
  auto misplaced = [&] {
    Fail(begin, "this call's arguments are out of order");
    return false;
  };
  if (SkipOperator("*")) {
    if (arguments->more_positional || arguments->more_keywords) return misplaced();
    return (arguments->more_positional = ParseExpression()) != nullptr;
  }
  if (SkipOperator("**")) {
    if (arguments->more_keywords) return misplaced();
    return (arguments->more_keywords = ParseExpression()) != nullptr;
  }
  if (Is(TokenKind::kName) && IsOperator(ahead(), "=")) {
    if (arguments->more_keywords) return misplaced();
    const Token& name = Next();
    Next();
    for (const KeywordExpr& other : *keywords) {
      if (other.name == name.text) {
        Fail(name.position, fmt::format("the argument '{}' is given twice", name.text));
        return false;
      }
    }
    keywords->push_back({name.text, ParseExpression()});
    return keywords->back().value != nullptr;
  }
  if (arguments->more_positional || arguments->more_keywords || !keywords->empty())
    return misplaced();
  positional->push_back(ParseExpression());
  return positional->back() != nullptr;
}

namespace {

// The deepest of the arguments counts for the depth of the call.
std::vector<Expr*> AllOf(const ArgumentExprs& arguments) {
  std::vector<Expr*> all(arguments.positional.begin(), arguments.positional.end());
  for (const KeywordExpr& keyword : arguments.keywords) all.push_back(keyword.value);
  if (arguments.more_positional) all.push_back(arguments.more_positional);
  if (arguments.more_keywords) all.push_back(arguments.more_keywords);
  return all;
}

}  // namespace

Expr* ExpressionParser::ParseCall(Expr* node) {
  const Position position = current().position;
  ArgumentExprs arguments;
  if (!ParseArguments(&arguments)) return nullptr;
  return Deepen(
      DeepenBy(New(CallExpr{{ExprKind::kCall, position}, node, arguments}), AllOf(arguments)),
      {node});
}

FilterExpr* ExpressionParser::ParseFilter(Expr* input, bool inline_start) {
  FilterExpr* filter = nullptr;
  while (inline_start || IsOperator("|")) {
    if (!inline_start) Next();
    inline_start = false;
    const Token* name = ExpectAnyName();
    if (name == nullptr) return nullptr;
    std::string full(name->text);
    while (SkipOperator(".")) {
      const Token* more = ExpectAnyName();
      if (more == nullptr) return nullptr;
      full += '.';
      full += more->text;
    }
    ArgumentExprs arguments;
    if (IsOperator("(") && !ParseArguments(&arguments)) return nullptr;
    // A dotted name is no filter of ours, whatever its first part.
    const Filter* known = full == name->text ? FindFilter(name->text) : nullptr;
    filter = Deepen(
        DeepenBy(New(FilterExpr{
                     {ExprKind::kFilter, name->position}, input, name->text, known, arguments}),
                 AllOf(arguments)),
        {input});
    if (filter == nullptr) return nullptr;
    input = filter;
  }
  return filter;
}

bool ExpressionParser::ParseTestArguments(ArgumentExprs* arguments) {
  if (IsOperator("(")) return ParseArguments(arguments);
  const bool operand = Is(TokenKind::kName) || Is(TokenKind::kString) || Is(TokenKind::kInteger) ||
                       Is(TokenKind::kFloat) || IsOperator("[") || IsOperator("{");
  if (!operand || IsName("else") || IsName("or") || IsName("and")) return true;
  if (IsName("is")) {
    Fail(current().position, "tests cannot be chained with 'is'");
    return false;
  }
  Expr* argument = ParsePostfix(ParsePrimary(false));
  return argument != nullptr && Copy(std::vector<Expr*>{argument}, &arguments->positional);
}

Expr* ExpressionParser::ParseTest(Expr* node) {
  const Position position = Next().position;
  const bool negated = SkipName("not");
  const Token* name = ExpectAnyName();
  if (name == nullptr) return nullptr;
  bool dotted = false;
  while (SkipOperator(".")) {
    if (ExpectAnyName() == nullptr) return nullptr;
    dotted = true;
  }
  ArgumentExprs arguments;
  if (!ParseTestArguments(&arguments)) return nullptr;
  const Test* known = dotted ? nullptr : FindTest(name->text);
  Expr* test = Deepen(
      DeepenBy(New(TestExpr{{ExprKind::kTest, name->position}, node, name->text, known, arguments}),
               AllOf(arguments)),
      {node});
  if (test == nullptr || !negated) return test;
  return Deepen(New(OperatorExpr{{ExprKind::kUnary, position}, Operator::kNot, test, nullptr}),
                {test});
}

}  // namespace tonnage::chat
