// The expressions of Jinja's grammar, and what the statements' parser shares with them. Functions
// that return a pointer return nullptr, and those that return bool false, once the error is set.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/arena.h"
#include "chat/ast.h"
#include "chat/lexer.h"

namespace tonnage::chat {

class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, Arena* arena)
      : tokens_(std::move(tokens)), arena_(arena) {}

 protected:
  // One level of nesting; counts for the parser's own recursion.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser* parser) : parser_(parser) { ++parser_->nesting_; }
    ~Nesting() { --parser_->nesting_; }
    bool TooDeep() const;

   private:
    ExpressionParser* parser_;
  };

  const Token& current() const { return tokens_[index_]; }
  const Token& ahead() const { return tokens_[std::min(index_ + 1, tokens_.size() - 1)]; }
  const Token& Next() { return tokens_[index_ + 1 < tokens_.size() ? index_++ : index_]; }
  bool Is(TokenKind kind) const { return current().kind == kind; }
  bool IsOperator(std::string_view op) const { return IsOperator(current(), op); }
  static bool IsOperator(const Token& token, std::string_view op) {
    return token.kind == TokenKind::kOperator && token.text == op;
  }
  bool IsName(std::string_view name) const { return IsName(current(), name); }
  static bool IsName(const Token& token, std::string_view name) {
    return token.kind == TokenKind::kName && token.text == name;
  }
  bool SkipName(std::string_view name);
  bool SkipOperator(std::string_view op);
  bool ExpectName(std::string_view name);
  bool ExpectOperator(std::string_view op);
  const Token* ExpectAnyName();
  bool ExpectKind(TokenKind kind);

  std::nullptr_t Fail(Position position, std::string message);
  std::nullptr_t Unexpected(std::string_view expected);

  template <typename T, typename... Args>
  T* New(T node) {
    T* result = arena_->New<T>(node);
    if (result == nullptr) Fail(node.position, "the template is too large");
    return result;
  }
  template <typename T>
  bool Copy(const std::vector<T>& from, std::span<T>* to) {
    T* items = arena_->NewArray<T>(from.size());
    if (items == nullptr) {
      Fail(current().position, "the template is too large");
      return false;
    }
    std::copy(from.begin(), from.end(), items);
    *to = {items, from.size()};
    return true;
  }
  // Sets a node's depth from its children's (nullptr for none), and refuses a tree that is too
  // deep.
  template <typename T>
  T* Deepen(T* node, std::initializer_list<const Expr*> children) {
    if (node == nullptr) return nullptr;
    for (const Expr* child : children) DeepenFor(node, child);
    return node->depth > kMaxTreeDepth ? TooDeep(node->position) : node;
  }
  template <typename T>
  T* DeepenBy(T* node, std::span<Expr* const> children) {
    if (node == nullptr) return nullptr;
    for (const Expr* child : children) DeepenFor(node, child);
    return node->depth > kMaxTreeDepth ? TooDeep(node->position) : node;
  }

  struct TupleOptions {
    bool targets = false;     // only names and literals
    bool namespaces = false;  // `ns.x` as a target
    bool conditional = true;  // `a if b else c`
    bool parenthesized = false;
    std::string_view end_name = {};  // a name that ends the tuple
  };
  Expr* ParseTuple(const TupleOptions& options);
  Expr* ParseExpression(bool conditional = true);
  Expr* ParseAssignTarget(bool namespaces, std::string_view end_name = {});
  NameExpr* ParseNameTarget(NameUse use);
  FilterExpr* ParseFilter(Expr* input, bool inline_start);
  bool ParseArguments(ArgumentExprs* arguments);

  std::vector<Token> tokens_;
  std::size_t index_ = 0;
  Arena* const arena_;
  std::optional<Error> error_;

 private:
  Expr* ParseConditional();
  Expr* ParseOr();
  Expr* ParseAnd();
  Expr* ParseNot();
  Expr* ParseCompare();
  Expr* ParseSum();
  Expr* ParseConcat();
  Expr* ParseProduct();
  Expr* ParsePower();
  Expr* ParseUnary(bool with_filter);
  Expr* ParsePrimary(bool namespaces);
  Expr* ParseName(bool namespaces);
  Expr* ParseList();
  Expr* ParseDict();
  Expr* ParsePostfix(Expr* node);
  Expr* ParseFilterChain(Expr* node);
  Expr* ParseSubscript(Expr* node);
  Expr* ParseSubscribed();
  Expr* ParseCall(Expr* node);
  Expr* ParseTest(Expr* node);
  bool ParseTestArguments(ArgumentExprs* arguments);
  bool ParseArgument(std::vector<Expr*>* positional, std::vector<KeywordExpr>* keywords,
                     ArgumentExprs* arguments, Position begin);
  bool IsTupleEnd(const TupleOptions& options) const;
  bool MakeStore(Expr* target);
  Expr* Binary(ExprKind kind, Operator op, Position position, Expr* left, Expr* right);
  Expr* Constant(Position position, Value value);
  std::nullptr_t TooDeep(Position position);
  template <typename T>
  static void DeepenFor(T* node, const Expr* child) {
    if (child != nullptr) node->depth = std::max<std::int16_t>(node->depth, child->depth + 1);
  }

  int nesting_ = 0;
};

}  // namespace tonnage::chat
