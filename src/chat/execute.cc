// Statements.
#include "chat/dict.h"
#include "chat/evaluator.h"
#include "chat/repr.h"

namespace tonnage::chat {
namespace {

// The items of a loop that pass its test, which sees the outer variables as they are when it
// begins.
class TestedIterator final : public Iterator {
 public:
  TestedIterator(Evaluator* evaluator, const ForStmt* loop, Value iterable, Activation* closure)
      : evaluator_(evaluator), loop_(loop), iterable_(iterable), closure_(closure) {}

  Step Next(Renderer& renderer, Value* item) override {
    if (source_ == nullptr) {
      activation_ = evaluator_->NewActivation(closure_, loop_->test_slots);
      if (activation_ == nullptr || (source_ = Iterate(renderer, iterable_)) == nullptr)
        return kFailed;
      evaluator_->Enter(loop_->test_scope, activation_);
    }
    Step step;
    while ((step = source_->Next(renderer, item)) == kItem) {
      if (!evaluator_->Assign(*loop_->test_target, *item, activation_)) return kFailed;
      const Value passes = evaluator_->Eval(*loop_->test, activation_);
      if (passes.is_error()) return kFailed;
      if (IsTrue(passes)) return kItem;
    }
    return step;
  }

 private:
  Evaluator* const evaluator_;
  const ForStmt* const loop_;
  const Value iterable_;
  Activation* const closure_;
  Activation* activation_ = nullptr;
  Iterator* source_ = nullptr;
};

}  // namespace

bool Evaluator::Run(const Tree& tree, std::string* out) {
  Activation* activation = NewActivation(nullptr, tree.slots);
  if (activation == nullptr) return false;
  out_ = out;
  Enter(tree.scope, activation);
  return !renderer_.failed() && Execute(tree.body, activation) != Flow::kFailed &&
         !renderer_.failed();
}

Activation* Evaluator::NewActivation(Activation* parent, std::int32_t slots) {
  Activation* activation = renderer_.arena().New<Activation>(Activation{parent, nullptr});
  Value* values = renderer_.arena().NewArray<Value>(static_cast<std::size_t>(slots));
  if (activation == nullptr || values == nullptr) {
    renderer_.FailOutOfMemory();
    return nullptr;
  }
  std::fill(values, values + slots, Value());
  activation->slots = values;
  return activation;
}

void Evaluator::Enter(const Scope& scope, Activation* activation) {
  for (const Load& load : scope.loads) {
    Value& slot = activation->slots[load.slot];
    switch (load.action) {
      case Load::kParameter:
        break;
      case Load::kResolve:
        slot = renderer_.Resolve(load.name);
        break;
      case Load::kAlias:
        slot = activation->at(load.alias);
        break;
      case Load::kUnset:
        slot = Value();
        break;
    }
  }
}

void Evaluator::Leave(const Scope& scope, Activation* activation) {
  for (const Load& load : scope.loads) activation->slots[load.slot] = Value();
}

bool Evaluator::Write(std::string_view text) {
  open_bytes_ += text.size();
  if (!renderer_.AllowText(open_bytes_) || !renderer_.StepText(text.size())) return false;
  out_->append(text);
  return true;
}

Evaluator::Flow Evaluator::WriteValue(const Value& value) {
  if (value.is_string()) return Write(value.text()) ? Flow::kNormal : Flow::kFailed;
  std::string text;
  return AppendText(renderer_, value, &text) && Write(text) ? Flow::kNormal : Flow::kFailed;
}

// What a filter or call block gives is not made text: it has to be.
Evaluator::Flow Evaluator::WriteString(const Value& value) {
  if (value.is_string()) return WriteValue(value);
  renderer_.Fail(fmt::format("a block gives a {} where text is wanted", TypeName(value)));
  return Flow::kFailed;
}

Evaluator::Flow Evaluator::Capture(const Body& body, Activation* activation, Value* text) {
  std::string captured;
  std::string* const outer = out_;
  out_ = &captured;
  const Flow flow = Execute(body, activation);
  out_ = outer;
  open_bytes_ -= captured.size();
  if (flow == Flow::kNormal) *text = renderer_.Text(captured);
  return renderer_.failed() ? Flow::kFailed : flow;
}

Evaluator::Flow Evaluator::Execute(const Body& body, Activation* activation) {
  const Renderer::Depth depth(&renderer_);
  if (!depth.Ok()) return Flow::kFailed;
  for (const Stmt* statement : body) {
    const Flow flow = renderer_.Step() ? ExecuteOne(*statement, activation) : Flow::kFailed;
    if (flow == Flow::kFailed || renderer_.failed()) {
      renderer_.LocateError(statement->position);
      return Flow::kFailed;
    }
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::ExecuteOne(const Stmt& statement, Activation* activation) {
  switch (statement.kind) {
    case StmtKind::kData:
      return Write(static_cast<const DataStmt&>(statement).text) ? Flow::kNormal : Flow::kFailed;
    case StmtKind::kOutput:
      for (const Expr* item : static_cast<const OutputStmt&>(statement).items) {
        const Value value = Eval(*item, activation);
        if (value.is_error() || WriteValue(value) == Flow::kFailed) return Flow::kFailed;
      }
      return Flow::kNormal;
    case StmtKind::kAssign:
      return ExecuteAssign(static_cast<const AssignStmt&>(statement), activation);
    case StmtKind::kAssignBlock:
      return ExecuteAssignBlock(static_cast<const AssignBlockStmt&>(statement), activation);
    case StmtKind::kIf:
      return ExecuteIf(static_cast<const IfStmt&>(statement), activation);
    case StmtKind::kFor:
      return ExecuteFor(static_cast<const ForStmt&>(statement), activation);
    case StmtKind::kMacro: {
      const auto& macro = static_cast<const MacroStmt&>(statement);
      const Value value = renderer_.Make(Kind::kMacro, Macro{&macro.macro, activation});
      activation->at(macro.place) = value;
      return value.is_error() ? Flow::kFailed : Flow::kNormal;
    }
    case StmtKind::kCallBlock:
      return ExecuteCallBlock(static_cast<const CallBlockStmt&>(statement), activation);
    case StmtKind::kFilterBlock:
      return ExecuteFilterBlock(static_cast<const FilterBlockStmt&>(statement), activation);
    case StmtKind::kWith:
      return ExecuteWith(static_cast<const WithStmt&>(statement), activation);
    case StmtKind::kScope: {
      const auto& scope = static_cast<const ScopeStmt&>(statement);
      Enter(scope.scope, activation);
      const Flow flow = Execute(scope.body, activation);
      Leave(scope.scope, activation);
      return flow;
    }
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kFailed;
}

Evaluator::Flow Evaluator::ExecuteIf(const IfStmt& statement, Activation* activation) {
  for (std::size_t i = 0; i < statement.tests.size(); ++i) {
    const Value test = Eval(*statement.tests[i], activation);
    if (test.is_error()) return Flow::kFailed;
    if (IsTrue(test)) return Execute(statement.bodies[i], activation);
  }
  const bool has_else = statement.bodies.size() > statement.tests.size();
  return has_else ? Execute(statement.bodies.back(), activation) : Flow::kNormal;
}

bool Evaluator::Assign(const Expr& target, const Value& value, Activation* activation) {
  switch (target.kind) {
    case ExprKind::kName:
      activation->at(static_cast<const NameExpr&>(target).place) = value;
      return true;
    case ExprKind::kNamespaceTarget: {
      const auto& name = static_cast<const NamespaceTargetExpr&>(target);
      auto& attributes = activation->at(name.place).as_mutable<Namespace>().attributes;
      if (const Value* old = DictFindText(attributes, name.attribute)) {
        *const_cast<Value*>(old) = value;  // a namespace's attributes are what may change
        return true;
      }
      return DictSet(renderer_, &attributes, renderer_.BorrowText(name.attribute), value);
    }
    default: {
      const auto& targets = static_cast<const ItemsExpr&>(target).items;
      ListBuilder collected(renderer_);
      if (!value.is_sequence() && !collected.AddAll(value)) return false;
      const auto items =
          value.is_sequence() ? value.items() : std::span<const Value>(collected.items());
      if (items.size() != targets.size()) {
        renderer_.Fail(fmt::format("{} values do not fit {} names", items.size(), targets.size()));
        return false;
      }
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (!Assign(*targets[i], items[i], activation)) return false;
      }
      return true;
    }
  }
}

bool Evaluator::CheckNamespaces(const Expr& target, Activation* activation) {
  if (target.kind == ExprKind::kTuple) {
    for (const Expr* item : static_cast<const ItemsExpr&>(target).items) {
      if (!CheckNamespaces(*item, activation)) return false;
    }
  }
  if (target.kind != ExprKind::kNamespaceTarget) return true;
  const auto& name = static_cast<const NamespaceTargetExpr&>(target);
  if (activation->at(name.place).is(Kind::kNamespace)) return true;
  renderer_.Fail(
      fmt::format("'{}' is no namespace, so that its attributes cannot be set", name.name));
  return false;
}

Evaluator::Flow Evaluator::ExecuteAssign(const AssignStmt& statement, Activation* activation) {
  if (!CheckNamespaces(*statement.target, activation)) return Flow::kFailed;
  const Value value = Eval(*statement.value, activation);
  if (value.is_error() || !Assign(*statement.target, value, activation)) return Flow::kFailed;
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::ExecuteAssignBlock(const AssignBlockStmt& block,
                                              Activation* activation) {
  Enter(block.scope, activation);
  Value value;
  const Flow flow = Capture(block.body, activation, &value);
  if (flow != Flow::kNormal) return flow;
  if (block.filter != nullptr) {
    captured_ = value;
    value = Eval(*block.filter, activation);
  }
  if (value.is_error() || !CheckNamespaces(*block.target, activation) ||
      !Assign(*block.target, value, activation)) {
    return Flow::kFailed;
  }
  Leave(block.scope, activation);
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::ExecuteFilterBlock(const FilterBlockStmt& block,
                                              Activation* activation) {
  Enter(block.scope, activation);
  Value text;
  const Flow flow = Capture(block.body, activation, &text);
  if (flow != Flow::kNormal) return flow;
  captured_ = text;
  const Value value = Eval(*block.filter, activation);
  if (value.is_error() || WriteString(value) == Flow::kFailed) return Flow::kFailed;
  Leave(block.scope, activation);
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::ExecuteCallBlock(const CallBlockStmt& block, Activation* activation) {
  const Macro macro{&block.macro, activation};
  if (block.call == nullptr) {
    const Value text = CallMacro(macro, {});
    return text.is_error() ? Flow::kFailed : WriteString(text);
  }
  const Value caller = renderer_.Make(Kind::kMacro, macro);
  const Value value = caller.is_error() ? caller : EvalCall(*block.call, &caller, activation);
  return value.is_error() ? Flow::kFailed : WriteString(value);
}

Evaluator::Flow Evaluator::ExecuteWith(const WithStmt& with, Activation* activation) {
  Enter(with.scope, activation);
  for (std::size_t i = 0; i < with.targets.size(); ++i) {
    const Value value = Eval(*with.values[i], activation);
    if (value.is_error() || !Assign(*with.targets[i], value, activation)) return Flow::kFailed;
  }
  const Flow flow = Execute(with.body, activation);
  Leave(with.scope, activation);
  return flow;
}

Evaluator::Flow Evaluator::ExecuteFor(const ForStmt& loop, Activation* activation) {
  const Value iterable = Eval(*loop.iterable, activation);
  if (iterable.is_error()) return Flow::kFailed;
  if (!loop.recursive) return RunLoop(loop, iterable, 0, activation, activation);
  const Value text = RenderRecursive(loop, iterable, 0, activation);
  return text.is_error() ? Flow::kFailed : WriteValue(text);
}

Value Evaluator::RenderRecursive(const ForStmt& loop, const Value& iterable, std::int64_t depth0,
                                 Activation* closure) {
  const Renderer::Depth depth(&renderer_);
  Activation* activation = NewActivation(closure, loop.slots);
  if (!depth.Ok() || activation == nullptr) return Value::Error();
  std::string captured;
  std::string* const outer = out_;
  out_ = &captured;
  const Flow flow = RunLoop(loop, iterable, depth0, closure, activation);
  out_ = outer;
  open_bytes_ -= captured.size();
  return flow == Flow::kFailed ? Value::Error() : renderer_.Text(captured);
}

// `closure` is where the loop stands, `activation` where its body's variables are: another one for
// a recursive loop.
Evaluator::Flow Evaluator::RunLoop(const ForStmt& loop, const Value& iterable, std::int64_t depth0,
                                   Activation* closure, Activation* activation) {
  Value items = iterable;
  if (loop.test != nullptr) {
    items = MakeGenerator<TestedIterator>(renderer_, this, &loop, iterable, closure);
    if (items.is_error()) return Flow::kFailed;
  }
  Iterator* source = Iterate(renderer_, items);
  if (source == nullptr) return Flow::kFailed;
  LoopState* state = nullptr;
  if (loop.extended) {
    state =
        renderer_.arena().New<LoopState>(LoopState{.source = source,
                                                   .iterable = items,
                                                   .recursive = loop.recursive ? &loop : nullptr,
                                                   .closure = closure,
                                                   .depth0 = depth0,
                                                   .before = {},
                                                   .current = {},
                                                   .after = {},
                                                   .changed = {}});
    if (state == nullptr) {
      renderer_.FailOutOfMemory();
      return Flow::kFailed;
    }
  }
  bool completed = false;
  if (RunLoopBody(loop, source, state, &completed, activation) == Flow::kFailed)
    return Flow::kFailed;
  Leave(loop.scope, activation);
  if (!loop.has_else || completed) return Flow::kNormal;
  Enter(loop.else_scope, activation);
  const Flow flow = Execute(loop.otherwise, activation);
  Leave(loop.else_scope, activation);
  return flow;
}

// `*completed` tells whether a body ran to its end, which is what the loop's `else` goes by: after
// `break` and `continue` alone it is rendered too, as Jinja has it.
Evaluator::Flow Evaluator::RunLoopBody(const ForStmt& loop, Iterator* source, LoopState* state,
                                       bool* completed, Activation* activation) {
  while (true) {
    Value item;
    const Iterator::Step step = state ? state->Advance(renderer_) : source->Next(renderer_, &item);
    if (step == Iterator::kFailed) return Flow::kFailed;
    if (step == Iterator::kDone) return Flow::kNormal;
    if (state != nullptr) item = state->current;
    if (!Assign(*loop.target, item, activation)) return Flow::kFailed;
    if (state != nullptr) activation->at(loop.loop) = Value::Of(Kind::kLoop, state);
    Enter(loop.scope, activation);
    const Flow flow = Execute(loop.body, activation);
    if (flow == Flow::kFailed || flow == Flow::kBreak) return flow;
    if (flow == Flow::kNormal) *completed = true;
  }
}

}  // namespace tonnage::chat
