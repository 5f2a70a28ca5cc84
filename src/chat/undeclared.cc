#include "chat/undeclared.h"

#include "chat/ast_walk.h"

namespace tonnage::chat {
namespace {

class Finder {
 public:
  explicit Finder(std::string_view name) : name_(name) {}

  bool reads() const { return state_ == kReads; }

  void Visit(const Body& body) {
    for (const Stmt* statement : body) {
      if (state_ == kLooking) VisitStmt(*statement);
    }
  }

 private:
  enum State { kLooking, kReads, kDeclares };

  void Visit(const Expr* expr) {
    if (expr == nullptr || state_ != kLooking) return;
    if (expr->kind == ExprKind::kName) {
      const auto& name = static_cast<const NameExpr&>(*expr);
      if (name.name == name_) state_ = name.use == NameUse::kLoad ? kReads : kDeclares;
      return;
    }
    ForEachChild(*expr, [this](const Expr& child) { Visit(&child); });
  }

  void Visit(const MacroExpr& macro) {
    for (const NameExpr* parameter : macro.parameters) Visit(parameter);
    for (const Expr* value : macro.defaults) Visit(value);
    Visit(macro.body);
  }

  void VisitFor(const ForStmt& loop) {
    Visit(loop.target);
    Visit(loop.iterable);
    Visit(loop.body);
    Visit(loop.otherwise);
    Visit(loop.test);
  }

  // elif tests come after the first body, as they do in the source.
  void VisitIf(const IfStmt& branches) {
    for (std::size_t i = 0; i < branches.bodies.size(); ++i) {
      if (i < branches.tests.size()) Visit(branches.tests[i]);
      Visit(branches.bodies[i]);
    }
  }

  void VisitStmt(const Stmt& statement) {
    switch (statement.kind) {
      case StmtKind::kOutput:
        for (const Expr* item : static_cast<const OutputStmt&>(statement).items) Visit(item);
        break;
      case StmtKind::kAssign:
        Visit(static_cast<const AssignStmt&>(statement).target);
        Visit(static_cast<const AssignStmt&>(statement).value);
        break;
      case StmtKind::kAssignBlock:
        Visit(static_cast<const AssignBlockStmt&>(statement).target);
        Visit(static_cast<const AssignBlockStmt&>(statement).filter);
        Visit(static_cast<const AssignBlockStmt&>(statement).body);
        break;
      case StmtKind::kIf:
        VisitIf(static_cast<const IfStmt&>(statement));
        break;
      case StmtKind::kFor:
        VisitFor(static_cast<const ForStmt&>(statement));
        break;
      case StmtKind::kMacro:
        Visit(static_cast<const MacroStmt&>(statement).macro);
        break;
      case StmtKind::kCallBlock:
        Visit(static_cast<const CallBlockStmt&>(statement).call);
        Visit(static_cast<const CallBlockStmt&>(statement).macro);
        break;
      case StmtKind::kFilterBlock:
        Visit(static_cast<const FilterBlockStmt&>(statement).body);
        Visit(static_cast<const FilterBlockStmt&>(statement).filter);
        break;
      case StmtKind::kWith:
        for (const Expr* target : static_cast<const WithStmt&>(statement).targets) Visit(target);
        for (const Expr* value : static_cast<const WithStmt&>(statement).values) Visit(value);
        Visit(static_cast<const WithStmt&>(statement).body);
        break;
      case StmtKind::kScope:
        Visit(static_cast<const ScopeStmt&>(statement).body);
        break;
      case StmtKind::kData:
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        break;
    }
  }

  const std::string_view name_;
  State state_ = kLooking;
};

}  // namespace

bool ReadsUndeclared(const Body& body, std::string_view name) {
  Finder finder(name);
  finder.Visit(body);
  return finder.reads();
}

}  // namespace tonnage::chat
