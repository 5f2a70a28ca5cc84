// The tree of a parsed template. Nodes lie in the template's arena and do not change after the
// resolver has given every name its slot. A tree is never deeper than kMaxTreeDepth, so walking it
// recursively is safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "chat/lexer.h"
#include "chat/value.h"

namespace tonnage::chat {

inline constexpr int kMaxTreeDepth = 250;

enum class ExprKind : std::uint8_t {
  kConst,
  kName,
  kNamespaceTarget,  // `ns.attribute` as the target of a set
  kTuple,
  kList,
  kDict,
  kUnary,
  kBinary,
  kAnd,
  kOr,
  kCompare,
  kConcat,
  kConditional,
  kAttribute,
  kItem,
  kSlice,
  kCall,
  kFilter,
  kTest,
};

enum class Operator : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kPlus,
  kMinus,
  kNot,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expr {
  ExprKind kind;
  Position position;
  std::int16_t depth = 1;
};

// Where a variable lies: in the activation `up` functions out, at `slot`.
struct Place {
  std::int32_t up = 0;
  std::int32_t slot = 0;
};

enum class NameUse : std::uint8_t { kLoad, kStore, kParameter };

struct ConstExpr : Expr {
  Value value;
};
struct NameExpr : Expr {
  std::string_view name;
  NameUse use;
  Place place;
};
struct NamespaceTargetExpr : Expr {
  std::string_view name, attribute;
  Place place;
};
// Tuple, list, concat; dict with keys and values in turn.
struct ItemsExpr : Expr {
  std::span<Expr*> items;
};
// Unary has no right side.
struct OperatorExpr : Expr {
  Operator op;
  Expr* left;
  Expr* right;
};
struct CompareExpr : Expr {
  Expr* first;
  std::span<Operator> ops;
  std::span<Expr*> operands;
};
struct ConditionalExpr : Expr {
  Expr* test;
  Expr* then;
  Expr* otherwise;  // or nullptr
};
struct AttributeExpr : Expr {
  Expr* object;
  std::string_view name;
};
struct ItemExpr : Expr {
  Expr* object;
  Expr* index;
  bool constant;  // a constant of a constant: Jinja folds it when compiling, and forgives more
};
struct SliceExpr : Expr {
  Expr* start;  // or nullptr, as the others
  Expr* stop;
  Expr* step;
};

struct KeywordExpr {
  std::string_view name;
  Expr* value;
};
struct ArgumentExprs {
  std::span<Expr*> positional;
  std::span<KeywordExpr> keywords;
  Expr* more_positional = nullptr;  // *expr
  Expr* more_keywords = nullptr;    // **expr
};

struct CallExpr : Expr {
  Expr* callee;
  ArgumentExprs arguments;
};

struct Filter;
struct Test;
struct FilterExpr : Expr {
  Expr* input;  // nullptr: the text captured by a block
  std::string_view name;
  const Filter* filter;  // nullptr: unknown; an error when it is reached
  ArgumentExprs arguments;
};
struct TestExpr : Expr {
  Expr* input;
  std::string_view name;
  const Test* test;  // nullptr: unknown
  ArgumentExprs arguments;
};

// What a scope does to its variables when it is entered. A `reset` one is unset again when the
// scope is left.
struct Load {
  enum Action : std::uint8_t { kParameter, kResolve, kAlias, kUnset } action;
  std::int32_t slot;
  std::string_view name;  // to resolve in the context
  Place alias;
};
struct Scope {
  std::span<Load> loads;
};

enum class StmtKind : std::uint8_t {
  kData,
  kOutput,
  kAssign,
  kAssignBlock,
  kIf,
  kFor,
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,
  kScope,
  kBreak,
  kContinue,
};

struct Stmt {
  StmtKind kind;
  Position position;
};
using Body = std::span<Stmt*>;

struct DataStmt : Stmt {
  std::string_view text;
};
struct OutputStmt : Stmt {
  std::span<Expr*> items;
};
struct AssignStmt : Stmt {
  Expr* target;
  Expr* value;
};
struct AssignBlockStmt : Stmt {
  Expr* target;
  FilterExpr* filter;  // or nullptr
  Body body;
  Scope scope;
};
struct IfStmt : Stmt {
  std::span<Expr*> tests;
  std::span<Body> bodies;  // one a test, and one more with `else`
};
struct ForStmt : Stmt {
  Expr* target;
  Expr* iterable;
  Expr* test;  // or nullptr
  bool recursive;
  bool extended;  // the body uses `loop`
  Body body;
  Body otherwise;
  bool has_else;
  Scope scope, test_scope, else_scope;
  Expr* test_target;   // the target as the test's function sees it
  Place loop;          // where `loop` lies, when extended
  std::int32_t slots;  // of the function that a recursive loop's body is
  std::int32_t test_slots;
};

// A macro, or the body of a call block.
struct MacroExpr {
  std::string_view name;  // empty for a call block
  Position position;
  std::span<NameExpr*> parameters;
  std::span<Expr*> defaults;  // of the last parameters
  Body body;
  Scope scope;
  std::int32_t slots;
  bool uses_caller, uses_kwargs, uses_varargs;  // as what they are when no parameter has the name
  bool explicit_caller;
  Place caller, kwargs, varargs;
};
struct MacroStmt : Stmt {
  MacroExpr macro;
  Place place;
};
struct CallBlockStmt : Stmt {
  MacroExpr macro;
  CallExpr* call;  // nullptr: a `generation` block, which only renders its body
};
struct FilterBlockStmt : Stmt {
  FilterExpr* filter;
  Body body;
  Scope scope;
};
struct WithStmt : Stmt {
  std::span<Expr*> targets;
  std::span<Expr*> values;
  Body body;
  Scope scope;
};
struct ScopeStmt : Stmt {
  Body body;
  Scope scope;
};

struct Tree {
  Body body;
  Scope scope;
  std::int32_t slots;
};

}  // namespace tonnage::chat
