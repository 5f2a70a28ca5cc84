// Which variables a scope has, after Jinja's rules: a name that is only read comes from an outer
// scope or else from the context; a name that is set starts as a copy of the outer one; what
// branches of an `if` set starts from outside too.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/ast.h"

namespace tonnage::chat {

// A unit with variables of its own at run time: the template, a macro, a recursive loop's body, a
// loop's test.
struct FunctionScope {
  FunctionScope* parent = nullptr;
  std::map<std::pair<int, std::string_view>, int> slots;  // by level and name
  int loops = 0;  // open around the code that is being resolved
};

class Symbols {
 public:
  struct Variable {
    Load::Action action;
    const Symbols* alias = nullptr;  // the scope whose variable it starts as
  };

  Symbols(const Symbols* parent, FunctionScope* function)
      : parent_(parent), function_(function), level_(parent ? parent->level_ + 1 : 0) {}

  FunctionScope* function() const { return function_; }
  int level() const { return level_; }
  // In the order in which they were first met.
  const std::vector<std::string_view>& names() const { return order_; }
  const Variable& variable(std::string_view name) const { return variables_.find(name)->second; }

  // The innermost scope that has `name`, or nullptr.
  const Symbols* Find(std::string_view name) const;

  void DeclareParameter(std::string_view name);
  void Read(const Expr& expr);
  void Target(const Expr& target, bool as_parameters);
  void Visit(const Body& body);

 private:
  // What one branch of an `if` adds.
  struct Branch {
    std::vector<std::pair<std::string_view, Variable>> added;
    std::vector<std::string_view> stored;
  };

  void VisitStmt(const Stmt& statement);
  void VisitIf(const IfStmt& statement);
  template <typename Work>
  Branch Try(Work&& work);
  void Merge(const std::vector<Branch>& branches);
  void Define(std::string_view name, Variable variable);
  void ReadName(std::string_view name);
  void Store(std::string_view name);

  const Symbols* const parent_;
  FunctionScope* const function_;
  const int level_;
  std::map<std::string_view, Variable> variables_;
  std::vector<std::string_view> order_;
  std::set<std::string_view> stores_;
  std::vector<std::string_view> stored_order_;
};

}  // namespace tonnage::chat
