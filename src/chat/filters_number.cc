// Filters on numbers.
#include <cmath>

#include "chat/arguments.h"
#include "chat/filters.h"
#include "chat/number.h"
#include "chat/operators.h"

namespace tonnage::chat {
namespace {

Value Abs(Renderer& renderer, const Value& input, const Arguments& arguments) {
  if (!BindNone(renderer, arguments, "abs")) return Value::Error();
  if (input.is(Kind::kFloat)) return Value::Float(std::fabs(input.real()));
  if (!input.is_integral())
    return renderer.Fail(fmt::format("abs() wants a number, not a {}", TypeName(input)));
  if (input.integer() >= 0) return Value::Int(input.integer());
  return Sign(renderer, Operator::kMinus, input);
}

// What float(input) gives; nothing where Python raises TypeError or ValueError.
std::optional<double> ToFloat(const Value& input) {
  if (input.is_number()) return input.real();
  if (input.is_string()) return ParseFloat(input.text());
  return {};
}

Value IntFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, "int", {"default", "base"})) return Value::Error();
  if (input.is_undefined()) return renderer.FailUndefined(input);
  if (input.is_integral()) return Value::Int(input.integer());
  const Value otherwise = p.Or(0, Value::Int(0));
  if (input.is_string()) {
    const Value base = p.Or(1, Value::Int(10));
    const bool good = base.is_integral() &&
                      (base.integer() == 0 || (base.integer() >= 2 && base.integer() <= 36));
    bool overflow = false;
    if (!renderer.StepText(input.text().size())) return Value::Error();
    if (const auto value =
            good ? ParseInteger(input.text(), static_cast<int>(base.integer()), &overflow)
                 : std::nullopt) {
      return Value::Int(*value);
    }
    if (overflow) return renderer.Fail("an integer does not fit in 64 bits");
  }
  const auto number = ToFloat(input);
  if (!number || std::isnan(*number)) return otherwise;
  if (std::isinf(*number)) {
    return input.is_string() ? otherwise : renderer.Fail("infinity has no integer value");
  }
  const auto whole = TruncateFloat(*number);
  return whole ? Value::Int(*whole) : renderer.Fail("an integer does not fit in 64 bits");
}

Value FloatFilter(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "float", {"default"})) return Value::Error();
  if (input.is_undefined()) return renderer.FailUndefined(input);
  if (input.is_string() && !renderer.StepText(input.text().size())) return Value::Error();
  const auto number = ToFloat(input);
  return number ? Value::Float(*number) : p.Or(0, Value::Float(0.0));
}

// round() of an integer to a power of ten, halves to even.
Value RoundInteger(Renderer& renderer, std::int64_t value, std::int64_t digits) {
  if (digits >= 0) return Value::Int(value);
  if (digits < -18) return Value::Int(0);
  const std::int64_t unit = *PowerIntegers(10, -digits);
  std::int64_t rest = value % unit;
  if (rest < 0) rest += unit;
  const auto floor = SubtractIntegers(value, rest);
  if (!floor) return renderer.Fail("an integer does not fit in 64 bits");
  const bool odd = (*floor / unit) % 2 != 0;
  const bool up = rest > unit - rest || (rest == unit - rest && odd);
  const auto result = up ? AddIntegers(*floor, unit) : floor;
  return result ? Value::Int(*result) : renderer.Fail("an integer does not fit in 64 bits");
}

Value Round(Renderer& renderer, const Value& input, const Arguments& arguments) {
  Parameters<2> p;
  if (!p.Bind(renderer, arguments, "round", {"precision", "method"})) return Value::Error();
  const std::string_view method = p[1].is_missing()  ? "common"
                                  : p[1].is_string() ? p[1].text()
                                                     : "";
  if (method != "common" && method != "ceil" && method != "floor") {
    return renderer.Fail("round() knows the methods common, ceil and floor");
  }
  if (!input.is_number())
    return renderer.Fail(fmt::format("round() wants a number, not a {}", TypeName(input)));
  const Value precision = p.Or(0, Value::Int(0));
  if (method == "common") {
    if (precision.is_none()) {  // to an integer
      if (input.is_integral()) return Value::Int(input.integer());
      const auto whole = TruncateFloat(std::nearbyint(input.real()));
      return whole ? Value::Int(*whole) : renderer.Fail("an integer does not fit in 64 bits");
    }
    const auto digits = IntegerArgument(renderer, precision, "round");
    if (!digits) return Value::Error();
    if (input.is_integral()) return RoundInteger(renderer, input.integer(), *digits);
    return Value::Float(
        RoundFloat(input.real(), static_cast<int>(std::clamp<std::int64_t>(*digits, -400, 400))));
  }
  const Value unit = Arithmetic(renderer, Operator::kPower, Value::Int(10), precision);
  const Value scaled =
      unit.is_error() ? unit : Arithmetic(renderer, Operator::kMultiply, input, unit);
  if (scaled.is_error()) return scaled;
  Value whole = scaled;
  if (scaled.is(Kind::kFloat)) {
    const double rounded = method == "ceil" ? std::ceil(scaled.real()) : std::floor(scaled.real());
    if (!std::isfinite(rounded)) return renderer.Fail("what is not finite has no integer value");
    const auto integer = TruncateFloat(rounded);
    whole = integer ? Value::Int(*integer) : Value::Float(rounded);
  }
  return Arithmetic(renderer, Operator::kDivide, whole, unit);
}

Value FileSizeFormat(Renderer& renderer, const Value& input, const Arguments& arguments) {
  static constexpr std::string_view kPrefixes[] = {"k", "M", "G", "T", "P", "E", "Z", "Y"};
  Parameters<1> p;
  if (!p.Bind(renderer, arguments, "filesizeformat", {"binary"})) return Value::Error();
  if (input.is_undefined()) return renderer.FailUndefined(input);
  const auto number = ToFloat(input);
  if (!number) return renderer.Fail("filesizeformat wants a number");
  const bool binary = IsTrue(p.Or(0, Value::Bool(false)));
  const double base = binary ? 1024 : 1000;
  if (*number == 1) return renderer.Text("1 Byte");
  if (*number < base) {
    const auto whole = TruncateFloat(*number);
    return whole ? renderer.Text(fmt::format("{} Bytes", *whole))
                 : renderer.Fail("a size is out of range");
  }
  double unit = base;
  std::string_view prefix;
  for (const std::string_view next : kPrefixes) {
    unit *= base;
    prefix = next;
    if (*number < unit) break;
  }
  const std::string name =
      binary ? (prefix == "k" ? "Ki" : std::string(prefix) + "i") : std::string(prefix);
  return renderer.Text(fmt::format("{:.1f} {}B", base * *number / unit, name));
}

constexpr Filter kFilters[] = {{"abs", Abs},
                               {"filesizeformat", FileSizeFormat},
                               {"float", FloatFilter},
                               {"int", IntFilter},
                               {"round", Round}};

}  // namespace

std::span<const Filter> NumberFilters() { return kFilters; }

}  // namespace tonnage::chat
