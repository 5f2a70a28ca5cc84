// Calls: of builtins, of macros, of recursive loops.
#include <algorithm>

#include "chat/dict.h"
#include "chat/evaluator.h"
#include "chat/methods.h"
#include "chat/subscript.h"

namespace tonnage::chat {

bool Evaluator::EvalArguments(const ArgumentExprs& exprs, const Value* caller, Arguments* arguments,
                              Activation* activation) {
  ListBuilder more(renderer_);
  Value* positional = renderer_.arena().NewArray<Value>(exprs.positional.size());
  std::size_t keyword_count = exprs.keywords.size() + (caller ? 1 : 0);
  Keyword* keywords = renderer_.arena().NewArray<Keyword>(keyword_count);
  if (positional == nullptr || keywords == nullptr) {
    renderer_.FailOutOfMemory();
    return false;
  }
  for (std::size_t i = 0; i < exprs.positional.size(); ++i) {
    positional[i] = Eval(*exprs.positional[i], activation);
    if (positional[i].is_error()) return false;
  }
  arguments->positional = {positional, exprs.positional.size()};
  for (std::size_t i = 0; i < exprs.keywords.size(); ++i) {
    keywords[i] = {exprs.keywords[i].name, Eval(*exprs.keywords[i].value, activation)};
    if (keywords[i].value.is_error()) return false;
  }
  if (caller != nullptr) keywords[exprs.keywords.size()] = {"caller", *caller};
  if (exprs.more_positional != nullptr) {
    const Value rest = Eval(*exprs.more_positional, activation);
    for (const Value& value : arguments->positional) more.Add(value);
    if (rest.is_error() || !more.AddAll(rest)) return false;
    arguments->positional = more.items();
  }
  if (exprs.more_keywords != nullptr) {
    const Value rest = Eval(*exprs.more_keywords, activation);
    if (rest.is_error() || !AddKeywords(rest, &keywords, &keyword_count)) return false;
  }
  arguments->keywords = {keywords, keyword_count};
  return true;
}

bool Evaluator::AddKeywords(const Value& more, Keyword** keywords, std::size_t* count) {
  if (!more.is(Kind::kDict)) {
    renderer_.Fail(fmt::format("** wants a dict, not a {}", TypeName(more)));
    return false;
  }
  const Dict& dict = more.dict();
  Keyword* all = renderer_.arena().NewArray<Keyword>(*count + dict.size);
  if (all == nullptr) {
    renderer_.FailOutOfMemory();
    return false;
  }
  std::copy(*keywords, *keywords + *count, all);
  const std::size_t given = *count;
  for (std::uint32_t i = 0; i < dict.size; ++i) {
    const Value& key = dict.entries[i].key;
    const bool twice = key.is_string() && std::any_of(all, all + given, [&](const Keyword& k) {
                         return k.name == key.text();
                       });
    if (!key.is_string() || twice) {
      renderer_.Fail(twice ? fmt::format("the argument '{}' is given twice", key.text())
                           : "the keys of ** must be strings");
      return false;
    }
    all[(*count)++] = {key.text(), dict.entries[i].value};
  }
  *keywords = all;
  return true;
}

Value Evaluator::EvalCall(const CallExpr& call, const Value* caller, Activation* activation) {
  Arguments arguments;
  if (call.callee->kind == ExprKind::kAttribute) {
    // A method of a plain value is called without being made a value first.
    const auto& attribute = static_cast<const AttributeExpr&>(*call.callee);
    const Value object = Eval(*attribute.object, activation);
    if (object.is_error()) return object;
    const bool plain = object.is_string() || object.is(Kind::kDict) || object.is(Kind::kList);
    if (const Method* method = plain ? FindMethod(object.kind(), attribute.name) : nullptr;
        method && method->call) {
      if (!EvalArguments(call.arguments, caller, &arguments, activation)) return Value::Error();
      return method->call(renderer_, object, arguments);
    }
    const Value callee = GetAttribute(renderer_, object, attribute.name);
    if (callee.is_error() || !EvalArguments(call.arguments, caller, &arguments, activation))
      return Value::Error();
    return Call(callee, arguments);
  }
  const Value callee = Eval(*call.callee, activation);
  if (callee.is_error() || !EvalArguments(call.arguments, caller, &arguments, activation))
    return Value::Error();
  return Call(callee, arguments);
}

Value Evaluator::Call(const Value& callee, const Arguments& arguments) {
  switch (callee.kind()) {
    case Kind::kFunction:
      return callee.as<Function>().call(renderer_, arguments);
    case Kind::kMethod:
      return callee.as<BoundMethod>().method->call(renderer_, callee.as<BoundMethod>().self,
                                                   arguments);
    case Kind::kMacro:
      return CallMacro(callee.as<Macro>(), arguments);
    case Kind::kLoop:
      return CallLoop(callee.as<LoopState>(), arguments);
    case Kind::kJoiner: {
      if (!arguments.positional.empty() || !arguments.keywords.empty())
        return renderer_.Fail("a joiner takes no arguments");
      auto& joiner = callee.as_mutable<Joiner>();
      const bool first = !joiner.used;
      joiner.used = true;
      return first ? renderer_.BorrowText("") : joiner.separator;
    }
    case Kind::kUndefined:
      return renderer_.FailUndefined(callee);
    default:
      return renderer_.Fail(fmt::format("a {} cannot be called", TypeName(callee)));
  }
}

Value Evaluator::CallMacro(const Macro& macro, const Arguments& arguments) {
  const MacroExpr& definition = *macro.definition;
  const Renderer::Depth depth(&renderer_);
  Activation* activation = NewActivation(macro.closure, definition.slots);
  if (!depth.Ok() || activation == nullptr || !BindMacro(definition, arguments, activation))
    return Value::Error();
  Value text;
  return Capture(definition.body, activation, &text) == Flow::kFailed ? Value::Error() : text;
}

bool Evaluator::BindMacro(const MacroExpr& macro, const Arguments& arguments,
                          Activation* activation) {
  const std::size_t given = std::min(arguments.positional.size(), macro.parameters.size());
  std::vector<bool> used(arguments.keywords.size());
  bool found_caller = macro.explicit_caller && given == macro.parameters.size();
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    Value value;
    const std::string_view name = macro.parameters[i]->name;
    if (i < given) {
      value = arguments.positional[i];
    } else {
      for (std::size_t k = 0; k < arguments.keywords.size(); ++k) {
        if (arguments.keywords[k].name != name) continue;
        value = arguments.keywords[k].value;
        used[k] = true;
      }
      found_caller = found_caller || name == "caller";
    }
    activation->at(macro.parameters[i]->place) = value;
  }
  if (!BindSpecial(macro, arguments, &used, found_caller, activation)) return false;
  Enter(macro.scope, activation);
  const std::size_t required = macro.parameters.size() - macro.defaults.size();
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    Value& slot = activation->at(macro.parameters[i]->place);
    if (!slot.is_missing()) continue;
    const Value value = i < required
                            ? renderer_.UndefinedWith(fmt::format("parameter '{}' was not provided",
                                                                  macro.parameters[i]->name))
                            : Eval(*macro.defaults[i - required], activation);
    if (value.is_error()) return false;
    slot = value;
  }
  return !renderer_.failed();
}

// `caller`, `kwargs` and `varargs`, and the complaint about arguments that nothing takes.
bool Evaluator::BindSpecial(const MacroExpr& macro, const Arguments& arguments,
                            std::vector<bool>* used, bool found_caller, Activation* activation) {
  if (macro.uses_caller && !found_caller) {
    Value caller = Value::None();
    for (std::size_t k = 0; k < arguments.keywords.size(); ++k) {
      if (arguments.keywords[k].name != "caller") continue;
      caller = arguments.keywords[k].value;
      (*used)[k] = true;
    }
    activation->at(macro.caller) =
        caller.is_none() ? renderer_.UndefinedWith("No caller defined") : caller;
  }
  Dict* rest = macro.uses_kwargs ? NewDict(renderer_, 0) : nullptr;
  for (std::size_t k = 0; k < arguments.keywords.size(); ++k) {
    if ((*used)[k]) continue;
    const Keyword& keyword = arguments.keywords[k];
    if (!macro.uses_kwargs) {
      renderer_.Fail(
          fmt::format("macro '{}' takes no keyword argument '{}'", macro.name, keyword.name));
      return false;
    }
    if (rest == nullptr ||
        !DictSet(renderer_, rest, renderer_.BorrowText(keyword.name), keyword.value))
      return false;
  }
  if (macro.uses_kwargs) activation->at(macro.kwargs) = Value::Of(Kind::kDict, rest);
  const std::size_t given = std::min(arguments.positional.size(), macro.parameters.size());
  if (macro.uses_varargs) {
    activation->at(macro.varargs) = renderer_.Tuple(arguments.positional.subspan(given));
  } else if (arguments.positional.size() > given) {
    renderer_.Fail(fmt::format("macro '{}' takes not more than {} arguments", macro.name,
                               macro.parameters.size()));
  }
  return !renderer_.failed();
}

Value Evaluator::CallLoop(const LoopState& loop, const Arguments& arguments) {
  if (loop.recursive == nullptr)
    return renderer_.Fail("only a loop marked 'recursive' can be called");
  const bool positional = arguments.positional.size() == 1 && arguments.keywords.empty();
  const bool keyword = arguments.positional.empty() && arguments.keywords.size() == 1 &&
                       arguments.keywords[0].name == "iterable";
  if (!positional && !keyword) return renderer_.Fail("loop() takes the items to go through");
  const Value iterable = positional ? arguments.positional[0] : arguments.keywords[0].value;
  return RenderRecursive(*loop.recursive, iterable, loop.depth0 + 1, loop.closure);
}

}  // namespace tonnage::chat
