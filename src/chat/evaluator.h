// Walks a tree and writes what it renders. One a rendering.
#pragma once

#include <string>

#include "chat/ast.h"
#include "chat/iterate.h"
#include "chat/loop.h"
#include "chat/operators.h"
#include "chat/renderer.h"

namespace tonnage::chat {

// The variables of a function that runs. In the arena: what a macro closes over stays.
struct Activation {
  Activation* parent;
  Value* slots;

  Value& at(const Place& place) {
    Activation* activation = this;
    for (int i = 0; i < place.up; ++i) activation = activation->parent;
    return activation->slots[place.slot];
  }
};

class Evaluator {
 public:
  explicit Evaluator(Renderer* renderer) : renderer_(*renderer) {}

  // Appends the rendering to `out`; false, and the renderer failed, on an error.
  bool Run(const Tree& tree, std::string* out);

  // For the test of a loop, which its iterator evaluates.
  Activation* NewActivation(Activation* parent, std::int32_t slots);
  void Enter(const Scope& scope, Activation* activation);
  bool Assign(const Expr& target, const Value& value, Activation* activation);
  Value Eval(const Expr& expr, Activation* activation);

 private:
  enum class Flow { kNormal, kBreak, kContinue, kFailed };

  // Statements.
  Flow Execute(const Body& body, Activation* activation);
  Flow ExecuteOne(const Stmt& statement, Activation* activation);
  Flow ExecuteIf(const IfStmt& statement, Activation* activation);
  Flow ExecuteFor(const ForStmt& loop, Activation* activation);
  Flow RunLoop(const ForStmt& loop, const Value& iterable, std::int64_t depth0, Activation* closure,
               Activation* activation);
  Flow RunLoopBody(const ForStmt& loop, Iterator* source, LoopState* state, bool* completed,
                   Activation* activation);
  Flow ExecuteAssign(const AssignStmt& statement, Activation* activation);
  Flow ExecuteAssignBlock(const AssignBlockStmt& block, Activation* activation);
  Flow ExecuteFilterBlock(const FilterBlockStmt& block, Activation* activation);
  Flow ExecuteCallBlock(const CallBlockStmt& block, Activation* activation);
  Flow ExecuteWith(const WithStmt& with, Activation* activation);
  static void Leave(const Scope& scope, Activation* activation);
  bool CheckNamespaces(const Expr& target, Activation* activation);
  bool Write(std::string_view text);
  Flow WriteValue(const Value& value);
  Flow WriteString(const Value& value);
  // Runs `body` with its output going to a string of its own.
  Flow Capture(const Body& body, Activation* activation, Value* text);

  // Calls.
  bool EvalArguments(const ArgumentExprs& exprs, const Value* caller, Arguments* arguments,
                     Activation* activation);
  bool AddKeywords(const Value& more, Keyword** keywords, std::size_t* count);
  Value EvalCall(const CallExpr& call, const Value* caller, Activation* activation);
  Value Call(const Value& callee, const Arguments& arguments);
  Value CallMacro(const Macro& macro, const Arguments& arguments);
  bool BindMacro(const MacroExpr& macro, const Arguments& arguments, Activation* activation);
  bool BindSpecial(const MacroExpr& macro, const Arguments& arguments, std::vector<bool>* used,
                   bool found_caller, Activation* activation);
  Value CallLoop(const LoopState& loop, const Arguments& arguments);
  Value RenderRecursive(const ForStmt& loop, const Value& iterable, std::int64_t depth0,
                        Activation* closure);

  // Expressions.
  Value EvalKind(const Expr& expr, Activation* activation);
  Value EvalItems(const ItemsExpr& expr, Kind kind, Activation* activation);
  Value EvalDict(const ItemsExpr& expr, Activation* activation);
  Value EvalConcat(const ItemsExpr& expr, Activation* activation);
  Value EvalUnary(const OperatorExpr& expr, Activation* activation);
  Value EvalBinary(const OperatorExpr& expr, Activation* activation);
  Value EvalCompare(const CompareExpr& expr, Activation* activation);
  Value EvalItem(const ItemExpr& expr, Activation* activation);
  Value EvalFilter(const FilterExpr& expr, Activation* activation);
  Value EvalTest(const TestExpr& expr, Activation* activation);

  Renderer& renderer_;
  std::string* out_ = nullptr;
  std::size_t open_bytes_ = 0;  // of all outputs that are being written
  Value captured_;              // the text that a filter or set block's filter applies to
};

}  // namespace tonnage::chat
