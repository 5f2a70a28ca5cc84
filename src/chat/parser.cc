#include "chat/parser.h"

#include "chat/expression_parser.h"

namespace tonnage::chat {
namespace {

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<Tree*> Parse() {
    Body body;
    if (!ParseBody({}, &body)) return *error_;
    Tree* tree = arena_->New<Tree>(Tree{.body = body, .scope = {}, .slots = 0});
    if (tree == nullptr) return InvalidArgument("the template is too large");
    return tree;
  }

 private:
  using EndNames = std::initializer_list<std::string_view>;

  // Statements up to one of the end tags, whose name is then the current token, or up to the end of
  // the template.
  bool ParseBody(EndNames end_names, Body* body) {
    const Nesting nesting(this);
    if (nesting.TooDeep()) return false;
    std::vector<Stmt*> statements;
    while (!Is(TokenKind::kEnd)) {
      Stmt* statement = nullptr;
      if (Is(TokenKind::kData)) {
        const Token& data = Next();
        statement = New(DataStmt{{StmtKind::kData, data.position}, data.text});
      } else if (Is(TokenKind::kVariableBegin)) {
        statement = ParseOutput();
      } else {
        Next();
        for (const std::string_view end : end_names) {
          if (IsName(end)) return Copy(statements, body);
        }
        statement = ParseStatement();
        if (statement != nullptr && !ExpectKind(TokenKind::kBlockEnd)) return false;
      }
      if (statement == nullptr) return false;
      statements.push_back(statement);
    }
    if (end_names.size() != 0) {
      Fail(current().position, fmt::format("the template ends where '{}' was expected",
                                           fmt::join(end_names, "' or '")));
      return false;
    }
    return Copy(statements, body);
  }

  // The body of a tag, from the tag's own end on.
  bool ParseTagBody(EndNames end_names, Body* body) {
    SkipOperator(":");
    return ExpectKind(TokenKind::kBlockEnd) && ParseBody(end_names, body);
  }
  bool ParseTagBodyAndEnd(std::string_view end_name, Body* body) {
    if (!ParseTagBody({end_name}, body)) return false;
    Next();
    return true;
  }

  Stmt* ParseOutput() {
    const Position position = Next().position;
    Expr* value = ParseTuple({});
    if (value == nullptr || !ExpectKind(TokenKind::kVariableEnd)) return nullptr;
    OutputStmt* output = New(OutputStmt{{StmtKind::kOutput, position}, {}});
    if (output == nullptr || !Copy(std::vector<Expr*>{value}, &output->items)) return nullptr;
    return output;
  }

  Stmt* ParseStatement() {
    if (!Is(TokenKind::kName)) return Unexpected("the name of a tag");
    const Token& name = current();
    struct Tag {
      std::string_view name;
      Stmt* (Parser::*parse)(Position);
    };
    static constexpr Tag kTags[] = {
        {"if", &Parser::ParseIf},
        {"for", &Parser::ParseFor},
        {"set", &Parser::ParseSet},
        {"macro", &Parser::ParseMacro},
        {"call", &Parser::ParseCallBlock},
        {"filter", &Parser::ParseFilterBlock},
        {"with", &Parser::ParseWith},
        {"print", &Parser::ParsePrint},
        {"generation", &Parser::ParseGeneration},
        {"break", &Parser::ParseBreak},
        {"continue", &Parser::ParseContinue},
        {"autoescape", &Parser::ParseAutoescape},
    };
    for (const Tag& tag : kTags) {
      if (name.text == tag.name) {
        const Position position = Next().position;
        return (this->*tag.parse)(position);
      }
    }
    for (const std::string_view refused : {"include", "import", "from", "extends", "block"}) {
      if (name.text == refused) {
        return Fail(name.position,
                    fmt::format("a chat template stands alone: '{}' is not supported", refused));
      }
    }
    return Fail(name.position, fmt::format("unknown tag '{}'", name.text));
  }

  Stmt* ParseIf(Position position) {
    std::vector<Expr*> tests;
    std::vector<Body> bodies;
    while (true) {
      tests.push_back(ParseTuple({.conditional = false}));
      if (tests.back() == nullptr) return nullptr;
      if (!ParseTagBody({"elif", "else", "endif"}, &bodies.emplace_back())) return nullptr;
      const std::string_view end = Next().text;
      if (end == "elif") continue;
      if (end == "else" && !ParseTagBodyAndEnd("endif", &bodies.emplace_back())) return nullptr;
      break;
    }
    IfStmt* node = New(IfStmt{{StmtKind::kIf, position}, {}, {}});
    if (node == nullptr || !Copy(tests, &node->tests) || !Copy(bodies, &node->bodies))
      return nullptr;
    return node;
  }

  Stmt* ParseFor(Position position) {
    ForStmt* node = New(ForStmt{});
    if (node == nullptr) return nullptr;
    node->kind = StmtKind::kFor;
    node->position = position;
    node->target = ParseAssignTarget(false, "in");
    if (node->target == nullptr || !ExpectName("in")) return nullptr;
    node->iterable = ParseTuple({.conditional = false, .end_name = "recursive"});
    if (node->iterable == nullptr) return nullptr;
    if (SkipName("if") && (node->test = ParseExpression()) == nullptr) return nullptr;
    node->recursive = SkipName("recursive");
    if (!ParseTagBody({"endfor", "else"}, &node->body)) return nullptr;
    node->has_else = Next().text == "else";
    if (node->has_else && !ParseTagBodyAndEnd("endfor", &node->otherwise)) return nullptr;
    return node;
  }

  Stmt* ParseSet(Position position) {
    Expr* target = ParseAssignTarget(true);
    if (target == nullptr) return nullptr;
    if (SkipOperator("=")) {
      Expr* value = ParseTuple({});
      if (value == nullptr) return nullptr;
      return New(AssignStmt{{StmtKind::kAssign, position}, target, value});
    }
    FilterExpr* filter = nullptr;
    if (IsOperator("|") && (filter = ParseFilter(nullptr, false)) == nullptr) return nullptr;
    Body body;
    if (!ParseTagBodyAndEnd("endset", &body)) return nullptr;
    return New(AssignBlockStmt{{StmtKind::kAssignBlock, position}, target, filter, body, {}});
  }

  bool ParseParameters(MacroExpr* macro) {
    std::vector<NameExpr*> parameters;
    std::vector<Expr*> defaults;
    if (!ExpectOperator("(")) return false;
    while (!IsOperator(")")) {
      if (!parameters.empty() && !ExpectOperator(",")) return false;
      NameExpr* parameter = ParseNameTarget(NameUse::kParameter);
      if (parameter == nullptr) return false;
      for (const NameExpr* other : parameters) {
        if (other->name == parameter->name) {
          Fail(parameter->position,
               fmt::format("the parameter '{}' is there twice", parameter->name));
          return false;
        }
      }
      parameters.push_back(parameter);
      if (SkipOperator("=")) {
        defaults.push_back(ParseExpression());
        if (defaults.back() == nullptr) return false;
      } else if (!defaults.empty()) {
        Fail(parameter->position, "a parameter without a default follows one with a default");
        return false;
      }
    }
    Next();
    return Copy(parameters, &macro->parameters) && Copy(defaults, &macro->defaults);
  }

  Stmt* ParseMacro(Position position) {
    NameExpr* name = ParseNameTarget(NameUse::kStore);
    if (name == nullptr) return nullptr;
    MacroStmt* node = New(MacroStmt{{StmtKind::kMacro, position}, {}, {}});
    if (node == nullptr) return nullptr;
    node->macro.name = name->name;
    node->macro.position = position;
    if (!ParseParameters(&node->macro) || !ParseTagBodyAndEnd("endmacro", &node->macro.body))
      return nullptr;
    return node;
  }

  Stmt* ParseCallBlock(Position position) {
    CallBlockStmt* node = New(CallBlockStmt{{StmtKind::kCallBlock, position}, {}, nullptr});
    if (node == nullptr) return nullptr;
    node->macro.position = position;
    if (IsOperator("(") && !ParseParameters(&node->macro)) return nullptr;
    Expr* call = ParseExpression();
    if (call == nullptr) return nullptr;
    if (call->kind != ExprKind::kCall) return Fail(call->position, "expected a call");
    node->call = static_cast<CallExpr*>(call);
    return ParseTagBodyAndEnd("endcall", &node->macro.body) ? node : nullptr;
  }

  Stmt* ParseGeneration(Position position) {
    CallBlockStmt* node = New(CallBlockStmt{{StmtKind::kCallBlock, position}, {}, nullptr});
    if (node == nullptr) return nullptr;
    node->macro.position = position;
    return ParseTagBodyAndEnd("endgeneration", &node->macro.body) ? node : nullptr;
  }

  Stmt* ParseFilterBlock(Position position) {
    FilterExpr* filter = ParseFilter(nullptr, true);
    Body body;
    if (filter == nullptr || !ParseTagBodyAndEnd("endfilter", &body)) return nullptr;
    return New(FilterBlockStmt{{StmtKind::kFilterBlock, position}, filter, body, {}});
  }

  static void MakeParameters(Expr* target) {
    if (target->kind == ExprKind::kName) {
      static_cast<NameExpr*>(target)->use = NameUse::kParameter;
    } else if (target->kind == ExprKind::kTuple) {
      for (Expr* item : static_cast<ItemsExpr*>(target)->items) MakeParameters(item);
    }
  }

  Stmt* ParseWith(Position position) {
    std::vector<Expr*> targets;
    std::vector<Expr*> values;
    while (!Is(TokenKind::kBlockEnd)) {
      if (!targets.empty() && !ExpectOperator(",")) return nullptr;
      targets.push_back(ParseAssignTarget(false));
      if (targets.back() == nullptr || !ExpectOperator("=")) return nullptr;
      MakeParameters(targets.back());
      values.push_back(ParseExpression());
      if (values.back() == nullptr) return nullptr;
    }
    WithStmt* node = New(WithStmt{{StmtKind::kWith, position}, {}, {}, {}, {}});
    if (node == nullptr || !Copy(targets, &node->targets) || !Copy(values, &node->values))
      return nullptr;
    return ParseTagBodyAndEnd("endwith", &node->body) ? node : nullptr;
  }

  Stmt* ParsePrint(Position position) {
    std::vector<Expr*> items;
    while (!Is(TokenKind::kBlockEnd)) {
      if (!items.empty() && !ExpectOperator(",")) return nullptr;
      items.push_back(ParseExpression());
      if (items.back() == nullptr) return nullptr;
    }
    OutputStmt* node = New(OutputStmt{{StmtKind::kOutput, position}, {}});
    if (node == nullptr || !Copy(items, &node->items)) return nullptr;
    return node;
  }

  Stmt* ParseAutoescape(Position position) {
    Expr* value = ParseExpression();
    if (value == nullptr) return nullptr;
    const bool off = value->kind == ExprKind::kConst &&
                     static_cast<const ConstExpr*>(value)->value.is(Kind::kBool) &&
                     !static_cast<const ConstExpr*>(value)->value.boolean();
    if (!off) return Fail(position, "only 'autoescape false' is supported: prompts are not HTML");
    ScopeStmt* node = New(ScopeStmt{{StmtKind::kScope, position}, {}, {}});
    if (node == nullptr) return nullptr;
    return ParseTagBodyAndEnd("endautoescape", &node->body) ? node : nullptr;
  }

  Stmt* ParseBreak(Position position) { return New(Stmt{StmtKind::kBreak, position}); }
  Stmt* ParseContinue(Position position) { return New(Stmt{StmtKind::kContinue, position}); }
};

// A template far larger than any in use would only cost memory.
constexpr std::size_t kMaxSourceBytes = 2 << 20;

}  // namespace

Result<Tree*> ParseTree(std::string_view source, Arena* arena) {
  if (source.size() > kMaxSourceBytes) {
    return InvalidArgument("the template has {}, more than the {} that are read",
                           FormatBytes(static_cast<Bytes>(source.size())),
                           FormatBytes(kMaxSourceBytes));
  }
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source, arena));
  return Parser(std::move(tokens), arena).Parse();
}

}  // namespace tonnage::chat
