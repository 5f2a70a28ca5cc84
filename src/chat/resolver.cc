#include "chat/resolver.h"

#include <deque>
#include <optional>

#include "chat/ast_walk.h"
#include "chat/symbols.h"
#include "chat/undeclared.h"

namespace tonnage::chat {
namespace {

class Resolver {
 public:
  explicit Resolver(Arena* arena) : arena_(arena) {}

  Status Run(Tree* tree) {
    FunctionScope* function = NewFunction(nullptr);
    Symbols* symbols = NewSymbols(nullptr, function);
    symbols->Visit(tree->body);
    tree->scope = MakeScope(*symbols, function);
    Resolve(tree->body, {symbols, function, false});
    tree->slots = SlotsOf(*function);
    if (error_) return *error_;
    return {};
  }

 private:
  // Where code stands. In branches an unknown filter only fails once it is reached.
  struct Frame {
    const Symbols* symbols;
    FunctionScope* function;
    bool branch;

    Frame Branch() const { return {symbols, function, true}; }
  };

  FunctionScope* NewFunction(FunctionScope* parent) {
    FunctionScope& function = functions_.emplace_back();
    function.parent = parent;
    return &function;
  }
  Symbols* NewSymbols(const Symbols* parent, FunctionScope* function) {
    return &symbols_.emplace_back(parent, function);
  }
  static std::int32_t SlotsOf(const FunctionScope& function) {
    return static_cast<std::int32_t>(function.slots.size());
  }

  void Fail(Position position, std::string message) {
    if (!error_) error_ = ErrorAt(position, message);
  }

  static int SlotOf(const Symbols& owner, std::string_view name) {
    auto& slots = owner.function()->slots;
    return slots.emplace(std::pair(owner.level(), name), static_cast<int>(slots.size()))
        .first->second;
  }

  // The place of a variable of `owner`, seen from code in `function`.
  static Place PlaceIn(const Symbols& owner, std::string_view name, const FunctionScope* function) {
    Place place{.up = 0, .slot = SlotOf(owner, name)};
    for (; function != owner.function(); function = function->parent) ++place.up;
    return place;
  }

  Place PlaceOf(std::string_view name, const Frame& frame, Position position) {
    const Symbols* owner = frame.symbols->Find(name);
    if (owner == nullptr) {
      Fail(position, fmt::format("'{}' cannot be used here", name));
      return {};
    }
    return PlaceIn(*owner, name, frame.function);
  }

  Scope MakeScope(const Symbols& symbols, const FunctionScope* function) {
    Load* loads = arena_->NewArray<Load>(symbols.names().size());
    if (loads == nullptr) {
      Fail({}, "the template is too large");
      return {};
    }
    std::size_t count = 0;
    for (const std::string_view name : symbols.names()) {
      const Symbols::Variable& variable = symbols.variable(name);
      loads[count++] = {
          .action = variable.action,
          .slot = SlotOf(symbols, name),
          .name = name,
          .alias = variable.alias ? PlaceIn(*variable.alias, name, function) : Place{}};
    }
    return {{loads, count}};
  }

  void Resolve(const ArgumentExprs& arguments, const Frame& frame) {
    ForEachArgument(arguments, [&](Expr& argument) { Resolve(&argument, frame); });
  }

  void Resolve(Expr* expr, const Frame& frame) {
    if (expr == nullptr || error_) return;
    switch (expr->kind) {
      case ExprKind::kName: {
        auto* name = static_cast<NameExpr*>(expr);
        name->place = PlaceOf(name->name, frame, name->position);
        if (name->use == NameUse::kStore && name->name == "loop" && for_depth_ > 0) {
          Fail(name->position, "'loop' cannot be set inside a loop");
        }
        return;
      }
      case ExprKind::kNamespaceTarget: {
        auto* target = static_cast<NamespaceTargetExpr*>(expr);
        target->place = PlaceOf(target->name, frame, target->position);
        return;
      }
      case ExprKind::kConditional:
        return ForEachChild(*expr, [&](Expr& child) { Resolve(&child, frame.Branch()); });
      case ExprKind::kFilter:
        if (static_cast<FilterExpr*>(expr)->filter == nullptr && !frame.branch) {
          Fail(expr->position,
               fmt::format("there is no filter '{}'", static_cast<FilterExpr*>(expr)->name));
        }
        break;
      case ExprKind::kTest:
        if (static_cast<TestExpr*>(expr)->test == nullptr && !frame.branch) {
          Fail(expr->position,
               fmt::format("there is no test '{}'", static_cast<TestExpr*>(expr)->name));
        }
        break;
      default:
        break;
    }
    ForEachChild(*expr, [&](Expr& child) { Resolve(&child, frame); });
  }

  void Resolve(const Body& body, const Frame& frame) {
    for (Stmt* statement : body) {
      if (!error_) Resolve(statement, frame);
    }
  }

  void Resolve(Stmt* statement, const Frame& frame) {
    switch (statement->kind) {
      case StmtKind::kData:
        return;
      case StmtKind::kOutput:
        for (Expr* item : static_cast<OutputStmt*>(statement)->items) Resolve(item, frame);
        return;
      case StmtKind::kAssign:
        Resolve(static_cast<AssignStmt*>(statement)->target, frame);
        return Resolve(static_cast<AssignStmt*>(statement)->value, frame);
      case StmtKind::kAssignBlock:
        return ResolveAssignBlock(static_cast<AssignBlockStmt*>(statement), frame);
      case StmtKind::kIf: {
        auto* branches = static_cast<IfStmt*>(statement);
        for (Expr* test : branches->tests) Resolve(test, frame.Branch());
        for (const Body& body : branches->bodies) Resolve(body, frame.Branch());
        return;
      }
      case StmtKind::kFor:
        return ResolveFor(static_cast<ForStmt*>(statement), frame);
      case StmtKind::kMacro: {
        auto* macro = static_cast<MacroStmt*>(statement);
        ResolveMacro(&macro->macro, frame);
        macro->place = PlaceOf(macro->macro.name, frame, macro->position);
        return;
      }
      case StmtKind::kCallBlock:
        ResolveMacro(&static_cast<CallBlockStmt*>(statement)->macro, frame);
        return Resolve(static_cast<CallBlockStmt*>(statement)->call, frame);
      case StmtKind::kFilterBlock:
        return ResolveFilterBlock(static_cast<FilterBlockStmt*>(statement), frame);
      case StmtKind::kWith:
        return ResolveWith(static_cast<WithStmt*>(statement), frame);
      case StmtKind::kScope: {
        auto* scope = static_cast<ScopeStmt*>(statement);
        Symbols* symbols = NewSymbols(frame.symbols, frame.function);
        symbols->Visit(scope->body);
        scope->scope = MakeScope(*symbols, frame.function);
        return Resolve(scope->body, {symbols, frame.function, false});
      }
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        if (frame.function->loops == 0) {
          Fail(statement->position, statement->kind == StmtKind::kBreak
                                        ? "'break' outside of a loop"
                                        : "'continue' outside of a loop");
        }
        return;
    }
  }

  void ResolveAssignBlock(AssignBlockStmt* block, const Frame& frame) {
    Symbols* symbols = NewSymbols(frame.symbols, frame.function);
    symbols->Visit(block->body);
    block->scope = MakeScope(*symbols, frame.function);
    const Frame inner{symbols, frame.function, false};
    Resolve(block->body, inner);
    Resolve(block->filter, inner);
    Resolve(block->target, frame);
  }

  void ResolveFilterBlock(FilterBlockStmt* block, const Frame& frame) {
    Symbols* symbols = NewSymbols(frame.symbols, frame.function);
    symbols->Visit(block->body);
    symbols->Read(*block->filter);
    block->scope = MakeScope(*symbols, frame.function);
    const Frame inner{symbols, frame.function, false};
    Resolve(block->body, inner);
    Resolve(block->filter, inner);
  }

  void ResolveWith(WithStmt* with, const Frame& frame) {
    Symbols* symbols = NewSymbols(frame.symbols, frame.function);
    for (const Expr* target : with->targets) symbols->Target(*target, false);
    symbols->Visit(with->body);
    with->scope = MakeScope(*symbols, frame.function);
    const Frame inner{symbols, frame.function, false};
    for (Expr* target : with->targets) Resolve(target, inner);
    for (Expr* value : with->values) Resolve(value, frame);
    Resolve(with->body, inner);
  }

  Expr* CloneTarget(const Expr& target) {
    Expr* clone = nullptr;
    if (target.kind == ExprKind::kName) {
      clone = arena_->New<NameExpr>(static_cast<const NameExpr&>(target));
    } else if (target.kind == ExprKind::kTuple) {
      const auto& tuple = static_cast<const ItemsExpr&>(target);
      Expr** items = arena_->NewArray<Expr*>(tuple.items.size());
      auto* copy = arena_->New<ItemsExpr>(tuple);
      if (items != nullptr && copy != nullptr) {
        for (std::size_t i = 0; i < tuple.items.size(); ++i) {
          if ((items[i] = CloneTarget(*tuple.items[i])) == nullptr) return nullptr;
        }
        copy->items = {items, tuple.items.size()};
        clone = copy;
      }
    }
    if (clone == nullptr) Fail(target.position, "the template is too large");
    return clone;
  }

  // The test of a loop is a function of its own: it sees the target, but not what the body sets.
  void ResolveLoopTest(ForStmt* loop, const Frame& frame) {
    FunctionScope* function = NewFunction(frame.function);
    Symbols* symbols = NewSymbols(frame.symbols, function);
    symbols->Target(*loop->target, true);
    symbols->Read(*loop->test);
    loop->test_scope = MakeScope(*symbols, function);
    const Frame inner{symbols, function, false};
    if ((loop->test_target = CloneTarget(*loop->target)) == nullptr) return;
    Resolve(loop->test_target, inner);
    Resolve(loop->test, inner);
    loop->test_slots = SlotsOf(*function);
  }

  void ResolveFor(ForStmt* loop, const Frame& frame) {
    ++for_depth_;
    Resolve(loop->iterable, frame);
    if (loop->test) ResolveLoopTest(loop, frame);
    FunctionScope* function = loop->recursive ? NewFunction(frame.function) : frame.function;
    Symbols* symbols = NewSymbols(frame.symbols, function);
    loop->extended = loop->recursive || ReadsUndeclared(loop->body, "loop");
    if (loop->extended) symbols->DeclareParameter("loop");
    symbols->Target(*loop->target, true);
    symbols->Visit(loop->body);
    loop->scope = MakeScope(*symbols, function);
    const Frame inner{symbols, function, false};
    if (loop->extended) loop->loop = PlaceOf("loop", inner, loop->position);
    Resolve(loop->target, inner);
    ++function->loops;
    Resolve(loop->body, inner);
    --function->loops;
    if (loop->has_else) {
      Symbols* else_symbols = NewSymbols(frame.symbols, function);
      else_symbols->Visit(loop->otherwise);
      loop->else_scope = MakeScope(*else_symbols, function);
      Resolve(loop->otherwise, {else_symbols, function, false});
    }
    if (loop->recursive) loop->slots = SlotsOf(*function);
    --for_depth_;
  }

  // Declares one of the special parameters that a macro's body mentions without having it as a
  // parameter.
  void DeclareSpecial(MacroExpr* macro, std::string_view name, Symbols* symbols, bool* uses,
                      Place* place) {
    *uses = ReadsUndeclared(macro->body, name);
    bool parameter = false;
    for (const NameExpr* other : macro->parameters) parameter = parameter || other->name == name;
    if (name == "caller") macro->explicit_caller = parameter;
    if (*uses && !parameter) {
      symbols->DeclareParameter(name);
      *place = {.up = 0, .slot = SlotOf(*symbols, name)};
    } else {
      *uses = *uses && name == "caller";
    }
  }

  void ResolveMacro(MacroExpr* macro, const Frame& frame) {
    FunctionScope* function = NewFunction(frame.function);
    Symbols* symbols = NewSymbols(frame.symbols, function);
    for (const NameExpr* parameter : macro->parameters) symbols->DeclareParameter(parameter->name);
    for (const Expr* value : macro->defaults) symbols->Read(*value);
    symbols->Visit(macro->body);
    DeclareSpecial(macro, "caller", symbols, &macro->uses_caller, &macro->caller);
    DeclareSpecial(macro, "kwargs", symbols, &macro->uses_kwargs, &macro->kwargs);
    DeclareSpecial(macro, "varargs", symbols, &macro->uses_varargs, &macro->varargs);
    if (macro->uses_caller && macro->explicit_caller) CheckCallerHasDefault(*macro);
    macro->scope = MakeScope(*symbols, function);
    const Frame inner{symbols, function, false};
    for (NameExpr* parameter : macro->parameters) Resolve(parameter, inner);
    for (Expr* value : macro->defaults) Resolve(value, inner);
    Resolve(macro->body, inner);
    macro->slots = SlotsOf(*function);
  }

  void CheckCallerHasDefault(const MacroExpr& macro) {
    const std::size_t required = macro.parameters.size() - macro.defaults.size();
    for (std::size_t i = 0; i < required; ++i) {
      if (macro.parameters[i]->name == "caller") {
        Fail(macro.position, "a parameter named 'caller' needs a default");
      }
    }
  }

  Arena* const arena_;
  std::deque<FunctionScope> functions_;
  std::deque<Symbols> symbols_;
  std::optional<Error> error_;
  int for_depth_ = 0;
};

}  // namespace

Status ResolveNames(Tree* tree, Arena* arena) { return Resolver(arena).Run(tree); }

}  // namespace tonnage::chat
