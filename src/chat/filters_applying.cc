// Filters that apply another filter or a test to every item: map, select, reject and their like.
// They are lazy: what is wrong with their arguments shows when the first item is asked for.
#include "chat/arguments.h"
#include "chat/attribute_path.h"
#include "chat/filters.h"
#include "chat/iterate.h"
#include "chat/operators.h"
#include "chat/tests.h"

namespace tonnage::chat {
namespace {

// Arguments outlive the call that gave them: they lie in the arena.
Arguments Rest(const Arguments& arguments, std::size_t from) {
  return {arguments.positional.subspan(std::min(from, arguments.positional.size())),
          arguments.keywords};
}

template <typename Item>
const Item* Find(Renderer& renderer, const Value& name, const Item* (*find)(std::string_view),
                 std::string_view what) {
  const Item* found = name.is_string() ? find(name.text()) : nullptr;
  if (found == nullptr) {
    renderer.Fail(name.is_string() ? fmt::format("there is no {} '{}'", what, name.text())
                                   : fmt::format("a {} has a string for a name, not a {}", what,
                                                 TypeName(name)));
  }
  return found;
}

class MapIterator final : public Iterator {
 public:
  MapIterator(Value input, Arguments arguments) : input_(input), arguments_(arguments) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (!IsTrue(input_)) return kDone;
    if (source_ == nullptr &&
        (!Prepare(renderer) || (source_ = Iterate(renderer, input_)) == nullptr))
      return kFailed;
    const Step step = source_->Next(renderer, item);
    if (step != kItem) return step;
    if (by_attribute_) {
      *item = FollowPath(renderer, *item, path_, default_);
    } else {
      const Filter* filter = Find(renderer, arguments_.positional[0], FindFilter, "filter");
      if (filter == nullptr) return kFailed;
      *item = filter->call(renderer, *item, Rest(arguments_, 1));
    }
    return item->is_error() ? kFailed : kItem;
  }

 private:
  bool Prepare(Renderer& renderer) {
    if (!arguments_.positional.empty()) return true;
    Value attribute;
    std::string_view unexpected;
    for (const Keyword& keyword : arguments_.keywords) {
      if (keyword.name == "attribute") {
        attribute = keyword.value;
      } else if (keyword.name == "default") {
        default_ = keyword.value;
      } else {
        unexpected = keyword.name;
      }
    }
    if (attribute.is_missing()) renderer.Fail("map wants a filter or an attribute");
    if (!unexpected.empty())
      renderer.Fail(fmt::format("map takes no keyword argument '{}'", unexpected));
    by_attribute_ = true;
    return !renderer.failed() && MakePath(renderer, attribute, &path_);
  }

  const Value input_;
  const Arguments arguments_;
  Iterator* source_ = nullptr;
  bool by_attribute_ = false;
  std::span<const Value> path_;
  Value default_;
};

Value Map(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return MakeGenerator<MapIterator>(renderer, input, arguments);
}

class SelectIterator final : public Iterator {
 public:
  SelectIterator(Value input, Arguments arguments, bool keep, bool by_attribute)
      : input_(input), arguments_(arguments), keep_(keep), by_attribute_(by_attribute) {}
  Step Next(Renderer& renderer, Value* item) override {
    if (!IsTrue(input_)) return kDone;
    if (source_ == nullptr) {
      if (by_attribute_ && arguments_.positional.empty()) {
        renderer.Fail("selectattr and rejectattr want an attribute");
        return kFailed;
      }
      if (by_attribute_ && !MakePath(renderer, arguments_.positional[0], &path_)) return kFailed;
      if ((source_ = Iterate(renderer, input_)) == nullptr) return kFailed;
    }
    Step step;
    while ((step = source_->Next(renderer, item)) == kItem) {
      const Value tested = FollowPath(renderer, *item, path_);
      const Truth passes = tested.is_error() ? Truth::kFailed : Passes(renderer, tested);
      if (passes == Truth::kFailed) return kFailed;
      if ((passes == Truth::kTrue) == keep_) return kItem;
    }
    return step;
  }

 private:
  Truth Passes(Renderer& renderer, const Value& value) {
    const std::size_t name = by_attribute_ ? 1 : 0;
    if (arguments_.positional.size() <= name) return ToTruth(IsTrue(value));
    const Test* test = Find(renderer, arguments_.positional[name], FindTest, "test");
    return test ? test->call(renderer, value, Rest(arguments_, name + 1)) : Truth::kFailed;
  }

  const Value input_;
  const Arguments arguments_;
  const bool keep_;
  const bool by_attribute_;
  Iterator* source_ = nullptr;
  std::span<const Value> path_;
};

template <bool kKeep, bool kByAttribute>
Value Select(Renderer& renderer, const Value& input, const Arguments& arguments) {
  return MakeGenerator<SelectIterator>(renderer, input, arguments, kKeep, kByAttribute);
}

constexpr Filter kFilters[] = {
    {"map", Map, true},
    {"reject", Select<false, false>, true},
    {"rejectattr", Select<false, true>, true},
    {"select", Select<true, false>, true},
    {"selectattr", Select<true, true>, true},
};

}  // namespace

std::span<const Filter> ApplyingFilters() { return kFilters; }

}  // namespace tonnage::chat
