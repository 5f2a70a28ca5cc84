#include "chat/symbols.h"

#include "chat/ast_walk.h"

namespace tonnage::chat {

const Symbols* Symbols::Find(std::string_view name) const {
  for (const Symbols* scope = this; scope != nullptr; scope = scope->parent_) {
    if (scope->variables_.contains(name)) return scope;
  }
  return nullptr;
}

void Symbols::Define(std::string_view name, Variable variable) {
  const auto [it, added] = variables_.insert_or_assign(name, variable);
  if (added) order_.push_back(name);
}

void Symbols::DeclareParameter(std::string_view name) {
  if (stores_.insert(name).second) stored_order_.push_back(name);
  Define(name, {Load::kParameter});
}

void Symbols::ReadName(std::string_view name) {
  if (Find(name) == nullptr) Define(name, {Load::kResolve});
}

void Symbols::Store(std::string_view name) {
  if (stores_.insert(name).second) stored_order_.push_back(name);
  if (variables_.contains(name)) return;
  const Symbols* outer = parent_ ? parent_->Find(name) : nullptr;
  Define(name, outer ? Variable{Load::kAlias, outer} : Variable{Load::kUnset});
}

void Symbols::Read(const Expr& expr) {
  if (expr.kind == ExprKind::kName) return ReadName(static_cast<const NameExpr&>(expr).name);
  ForEachChild(expr, [this](const Expr& child) { Read(child); });
}

void Symbols::Target(const Expr& target, bool as_parameters) {
  switch (target.kind) {
    case ExprKind::kName: {
      const auto& name = static_cast<const NameExpr&>(target);
      if (as_parameters || name.use == NameUse::kParameter) {
        DeclareParameter(name.name);
      } else {
        Store(name.name);
      }
      break;
    }
    case ExprKind::kNamespaceTarget:
      ReadName(static_cast<const NamespaceTargetExpr&>(target).name);
      break;
    default:
      for (const Expr* item : static_cast<const ItemsExpr&>(target).items)
        Target(*item, as_parameters);
  }
}

void Symbols::Visit(const Body& body) {
  for (const Stmt* statement : body) VisitStmt(*statement);
}

void Symbols::VisitStmt(const Stmt& statement) {
  switch (statement.kind) {
    case StmtKind::kOutput:
      for (const Expr* item : static_cast<const OutputStmt&>(statement).items) Read(*item);
      break;
    case StmtKind::kAssign:
      Read(*static_cast<const AssignStmt&>(statement).value);
      Target(*static_cast<const AssignStmt&>(statement).target, false);
      break;
    case StmtKind::kAssignBlock:  // its filter too belongs to the inner scope, which does not read
                                  // it
      Target(*static_cast<const AssignBlockStmt&>(statement).target, false);
      break;
    case StmtKind::kIf:
      VisitIf(static_cast<const IfStmt&>(statement));
      break;
    case StmtKind::kFor:
      Read(*static_cast<const ForStmt&>(statement).iterable);
      break;
    case StmtKind::kMacro:
      Store(static_cast<const MacroStmt&>(statement).macro.name);
      break;
    case StmtKind::kCallBlock:
      if (const auto* call = static_cast<const CallBlockStmt&>(statement).call) Read(*call);
      break;
    case StmtKind::kFilterBlock:
      Read(*static_cast<const FilterBlockStmt&>(statement).filter);
      break;
    case StmtKind::kWith:
      for (const Expr* value : static_cast<const WithStmt&>(statement).values) Read(*value);
      break;
    case StmtKind::kData:
    case StmtKind::kScope:
    case StmtKind::kBreak:
    case StmtKind::kContinue:
      break;
  }
}

// Does `work`, then takes back what it added.
template <typename Work>
Symbols::Branch Symbols::Try(Work&& work) {
  const std::size_t variables = order_.size();
  const std::size_t stored = stored_order_.size();
  work();
  Branch branch;
  for (std::size_t i = variables; i < order_.size(); ++i) {
    branch.added.emplace_back(order_[i], variables_.find(order_[i])->second);
    variables_.erase(order_[i]);
  }
  order_.resize(variables);
  branch.stored.assign(stored_order_.begin() + static_cast<std::ptrdiff_t>(stored),
                       stored_order_.end());
  for (const std::string_view name : branch.stored) stores_.erase(name);
  stored_order_.resize(stored);
  return branch;
}

void Symbols::Merge(const std::vector<Branch>& branches) {
  for (const Branch& branch : branches) {
    for (const auto& [name, variable] : branch.added) Define(name, variable);
  }
  // What only some branches set keeps its value from outside on the others.
  for (const Branch& branch : branches) {
    for (const std::string_view name : branch.stored) {
      if (!stores_.insert(name).second) continue;
      stored_order_.push_back(name);
      const Symbols* outer = parent_ ? parent_->Find(name) : nullptr;
      Define(name, outer ? Variable{Load::kAlias, outer} : Variable{Load::kResolve});
    }
  }
}

void Symbols::VisitIf(const IfStmt& statement) {
  const std::size_t tests = statement.tests.size();
  Read(*statement.tests[0]);
  std::vector<Branch> branches;
  branches.push_back(Try([&] { Visit(statement.bodies[0]); }));
  branches.push_back(Try([&] {
    for (std::size_t i = 1; i < tests; ++i) {
      Read(*statement.tests[i]);
      Merge({Try([&] { Visit(statement.bodies[i]); })});
    }
  }));
  if (statement.bodies.size() > tests) {
    branches.push_back(Try([&] { Visit(statement.bodies[tests]); }));
  }
  Merge(branches);
}

}  // namespace tonnage::chat
