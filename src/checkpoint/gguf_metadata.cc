// Typed access to the metadata of a parsed GGUF file.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "checkpoint/gguf.h"
#include "checkpoint/gguf_cursor.h"
#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

using internal::GgufCursor;
using internal::GgufTypeBytes;
using internal::LoadGguf;

// The value of a scalar of any number type; nothing if `type` is none, or the number does not fit
// T.
template <typename T>
std::optional<T> NumberAs(GgufType type, const std::uint8_t* bytes) {
  const auto as = [](auto value) -> std::optional<T> {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(value);
    } else if constexpr (std::is_integral_v<decltype(value)>) {
      if (std::in_range<T>(value)) return static_cast<T>(value);
    }
    return std::nullopt;
  };
  switch (type) {
    case GgufType::kU8:
      return as(LoadGguf<std::uint8_t>(bytes));
    case GgufType::kI8:
      return as(LoadGguf<std::int8_t>(bytes));
    case GgufType::kU16:
      return as(LoadGguf<std::uint16_t>(bytes));
    case GgufType::kI16:
      return as(LoadGguf<std::int16_t>(bytes));
    case GgufType::kU32:
      return as(LoadGguf<std::uint32_t>(bytes));
    case GgufType::kI32:
      return as(LoadGguf<std::int32_t>(bytes));
    case GgufType::kU64:
      return as(LoadGguf<std::uint64_t>(bytes));
    case GgufType::kI64:
      return as(LoadGguf<std::int64_t>(bytes));
    case GgufType::kF32:
      return as(LoadGguf<float>(bytes));
    case GgufType::kF64:
      return as(LoadGguf<double>(bytes));
    case GgufType::kBool:
    case GgufType::kString:
    case GgufType::kArray:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string Describe(const GgufEntry& entry) {
  if (entry.type != GgufType::kArray) return std::string(GgufTypeName(entry.type));
  return fmt::format("array of {} {}s", entry.array.count, GgufTypeName(entry.array.type));
}

std::optional<std::string_view> StringOf(const GgufEntry& entry) {
  if (entry.type != GgufType::kString) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
}

// One overload a type that Get() serves.
void Decode(const GgufEntry& entry, std::optional<bool>& out) {
  if (entry.type == GgufType::kBool) out = entry.bytes[0] != 0;
}
void Decode(const GgufEntry& entry, std::optional<std::int64_t>& out) {
  out = NumberAs<std::int64_t>(entry.type, entry.bytes.data());
}
void Decode(const GgufEntry& entry, std::optional<double>& out) {
  out = NumberAs<double>(entry.type, entry.bytes.data());
}
void Decode(const GgufEntry& entry, std::optional<std::string_view>& out) { out = StringOf(entry); }

template <typename T>
void Decode(const GgufEntry& entry, std::optional<std::vector<T>>& out) {
  if (entry.type != GgufType::kArray) return;
  std::vector<T> values;
  values.reserve(entry.array.count);
  const std::uint8_t* at = entry.array.bytes.data();
  for (std::uint64_t i = 0; i < entry.array.count; ++i, at += GgufTypeBytes(entry.array.type)) {
    const std::optional<T> value = NumberAs<T>(entry.array.type, at);
    if (!value) return;
    values.push_back(*value);
  }
  out = std::move(values);
}
template <>
void Decode(const GgufEntry& entry, std::optional<std::vector<std::string_view>>& out) {
  if (entry.type != GgufType::kArray || entry.array.type != GgufType::kString) return;
  std::vector<std::string_view> values;
  values.reserve(entry.array.count);
  GgufCursor cursor(entry.array.bytes);
  for (std::uint64_t i = 0; i < entry.array.count; ++i) values.push_back(*cursor.ReadString());
  out = std::move(values);
}

template <typename T>
constexpr std::string_view kWanted = "?";
template <>
constexpr std::string_view kWanted<bool> = "a boolean";
template <>
constexpr std::string_view kWanted<std::int64_t> = "a whole number within 64 bits";
template <>
constexpr std::string_view kWanted<double> = "a number";
template <>
constexpr std::string_view kWanted<std::string_view> = "a string";
template <>
constexpr std::string_view kWanted<std::vector<std::int64_t>> = "an array of whole numbers";
template <>
constexpr std::string_view kWanted<std::vector<float>> = "an array of numbers";
template <>
constexpr std::string_view kWanted<std::vector<std::string_view>> = "an array of strings";

}  // namespace

const GgufEntry* Gguf::Find(std::string_view key) const {
  const auto it =
      std::lower_bound(metadata_.begin(), metadata_.end(), key,
                       [](const GgufEntry& entry, std::string_view k) { return entry.key < k; });
  return it == metadata_.end() || it->key != key ? nullptr : &*it;
}

template <typename T>
Result<std::optional<T>> Gguf::Get(std::string_view key) const {
  const GgufEntry* entry = Find(key);
  if (entry == nullptr) return std::optional<T>();
  std::optional<T> value;
  Decode(*entry, value);
  if (value) return value;
  return Unreadable("metadata {} must be {}, not {}", Quoted(key), kWanted<T>, Describe(*entry));
}

template Result<std::optional<bool>> Gguf::Get(std::string_view) const;
template Result<std::optional<std::int64_t>> Gguf::Get(std::string_view) const;
template Result<std::optional<double>> Gguf::Get(std::string_view) const;
template Result<std::optional<std::string_view>> Gguf::Get(std::string_view) const;
template Result<std::optional<std::vector<std::int64_t>>> Gguf::Get(std::string_view) const;
template Result<std::optional<std::vector<float>>> Gguf::Get(std::string_view) const;
template Result<std::optional<std::vector<std::string_view>>> Gguf::Get(std::string_view) const;

Error Gguf::MissingKey(std::string_view key) {
  return Unreadable("metadata {} is missing", Quoted(key));
}

}  // namespace tonnage
