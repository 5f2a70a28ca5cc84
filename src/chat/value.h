// The values of a template: Python's, as far as Jinja shows them. A Value is 16 trivially copyable
// bytes; what it points to lies in an Arena (or in the template's constants, or in the caller's
// JSON) and never changes once made, except namespaces, iterators and loops, which belong to one
// rendering. Integers are 64 bits wide: leaving them is an error.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tonnage::chat {

enum class Kind : std::uint8_t {
  kError,      // an operation failed; the renderer holds the reason
  kMissing,    // no value at all: an unset slot, an argument not given
  kUndefined,  // Jinja's Undefined
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kDictView,  // keys(), values(), items()
  kRange,
  kSlice,  // only as the argument of a subscript
  kIterator,
  kNamespace,
  kMacro,
  kFunction,  // a global such as range
  kMethod,    // a method bound to its object
  kLoop,
  kCycler,
  kJoiner,
};

class Value;
class Iterator;
class Renderer;
struct ForStmt;
struct MacroExpr;
struct Activation;
struct Entry;
struct LoopState;
struct Arguments;

// UTF-8. `markup` marks text that Jinja's escaping takes for HTML already (the `safe` and `escape`
// filters).
struct String {
  const char* data;
  std::uint32_t size;
  bool markup;
  std::int64_t chars;  // code points; -1 until counted
  std::uint32_t*
      used;  // bytes used of the buffer at `data`, where more can be appended; or nullptr
  std::uint32_t capacity;  // of that buffer

  std::string_view view() const { return {data, size}; }
};

struct Sequence {
  const Value* items;
  std::size_t size;
  bool group;  // a tuple of `groupby`, with names for its two items
};

// Entries in order of insertion; `buckets` holds entry numbers + 1 in an open hash table, for the
// larger ones.
struct Dict {
  Entry* entries;
  std::uint32_t size;
  std::uint32_t capacity;
  std::uint32_t* buckets;  // nullptr, or `bucket_count` of them
  std::uint32_t bucket_count;
};

struct DictView {
  enum Which : std::uint8_t { kKeys, kValues, kItems } which;
  const Dict* dict;
};

struct Range {
  std::int64_t start, stop, step;
  std::int64_t size;
  // Wraps, for a bound one step past the last item may not fit.
  std::int64_t at(std::int64_t i) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                     static_cast<std::uint64_t>(i) *
                                         static_cast<std::uint64_t>(step));
  }
};

// What an undefined value answers when it is used.
struct Undefined {
  std::string_view hint;  // the whole message, or empty for one made of the two below
  std::string_view name;
  const Value* object;  // what lacks `name`, or nullptr for a variable
};

class Value {
 public:
  Value() : kind_(Kind::kMissing) {}
  static Value Error() { return Value(Kind::kError); }
  static Value None() { return Value(Kind::kNone); }
  static Value Bool(bool b) {
    Value v(Kind::kBool);
    v.int_ = b;
    return v;
  }
  static Value Int(std::int64_t i) {
    Value v(Kind::kInt);
    v.int_ = i;
    return v;
  }
  static Value Float(double d) {
    Value v(Kind::kFloat);
    v.float_ = d;
    return v;
  }
  // `object` is what its kind says; error() when it is nullptr, so that a failed allocation is one.
  template <typename T>
  static Value Of(Kind kind, const T* object) {
    if (object == nullptr) return Error();
    Value v(kind);
    v.object_ = object;
    return v;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_error() const { return kind_ == Kind::kError; }
  bool is_missing() const { return kind_ == Kind::kMissing; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }

  bool boolean() const { return int_ != 0; }
  std::int64_t integer() const { return int_; }  // of a bool too
  double real() const { return kind_ == Kind::kFloat ? float_ : static_cast<double>(int_); }
  const String& string() const { return as<String>(); }
  std::string_view text() const { return as<String>().view(); }
  const Sequence& sequence() const { return as<Sequence>(); }
  inline std::span<const Value> items() const;
  const Dict& dict() const { return as<Dict>(); }
  const Undefined& undefined() const { return as<Undefined>(); }
  template <typename T>
  const T& as() const {
    return *static_cast<const T*>(object_);
  }
  template <typename T>
  T& as_mutable() const {
    return *static_cast<T*>(const_cast<void*>(object_));
  }
  // The same object, not only an equal one: Python's `is`.
  bool IsSameAs(const Value& other) const {
    if (kind_ != other.kind_) return false;
    switch (kind_) {
      case Kind::kNone:
      case Kind::kMissing:
        return true;
      case Kind::kFloat:
        return float_ == other.float_;
      default:
        return int_ == other.int_;
    }
  }
  const void* address() const { return object_; }

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  Kind kind_;
  union {
    std::int64_t int_ = 0;
    double float_;
    const void* object_;
  };
};
static_assert(sizeof(Value) == 16);

struct Entry {
  Value key;
  Value value;
};

inline std::span<const Value> Value::items() const {
  const Sequence& s = sequence();
  return {s.items, s.size};
}

struct Slice {
  Value start, stop, step;  // none where left out
};

struct Namespace {
  Dict attributes;
};

// The arguments of a call. Keywords keep their order.
struct Keyword {
  std::string_view name;
  Value value;
};
struct Arguments {
  std::span<const Value> positional;
  std::span<const Keyword> keywords;
};

using FunctionPointer = Value (*)(Renderer&, const Arguments&);
struct Function {
  std::string_view name;
  FunctionPointer call;
};

using MethodPointer = Value (*)(Renderer&, Value self, const Arguments&);
struct Method {
  std::string_view name;
  MethodPointer call;  // nullptr: the sandbox refuses it
};
struct BoundMethod {
  const Method* method;
  Value self;
};

struct Macro {
  const MacroExpr* definition;
  Activation* closure;
};

struct Cycler {
  std::span<const Value> items;
  std::size_t position;
};
struct Joiner {
  Value separator;
  bool used;
};

// Python's name of a value's type: "str", "NoneType", "dict_keys".
std::string_view TypeName(const Value& value);

}  // namespace tonnage::chat
