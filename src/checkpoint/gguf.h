// A GGUF file (version 2 or 3, little-endian): typed metadata, tensor descriptions, then aligned
// tensor data. What is returned borrows the bytes that were parsed: keys, strings and arrays are
// views into them, so that a vocabulary of any size costs nothing until it is asked for. Every
// length, count and offset has been checked against the file's size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "quant/format.h"
#include "tensor/shape.h"

namespace tonnage {

// The numbers are the file format's.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
std::string_view GgufTypeName(GgufType type);

struct GgufArray {
  GgufType type = GgufType::kU8;
  std::uint64_t count = 0;
  std::span<const std::uint8_t>
      bytes;  // the elements, unaligned; strings and arrays with their lengths before them
};

struct GgufEntry {
  std::string_view key;
  GgufType type = GgufType::kU8;
  std::span<const std::uint8_t> bytes;  // a scalar: the value; a string: its text
  GgufArray array;                      // when type is kArray
};

// How the elements of a tensor are stored. Every known type has a row, so that sizes can be checked
// and errors name it; those that can be read have a format.
struct GgmlType {
  std::uint32_t id;
  std::string_view name;
  int block_elements;
  int block_bytes;
  std::optional<FormatKind> format = std::nullopt;
};
// The type with that id, or nullptr.
const GgmlType* FindGgmlType(std::uint32_t id);
// The type of that name in capitals ("Q4_K"), or nullptr.
const GgmlType* FindGgmlType(std::string_view name);

struct GgufTensor {
  std::string_view name;
  const GgmlType* type = nullptr;
  Shape shape;  // outermost first: the reverse of the file's order
  std::span<const std::uint8_t> data;
};

class Gguf {
 public:
  static Result<Gguf> Parse(std::span<const std::uint8_t> file);
  // How long the metadata and the tensors' descriptions are, given at least that much of a file.
  // Unreadable when `beginning` breaks off before their end, as when they are malformed.
  static Result<std::uint64_t> HeaderBytes(std::span<const std::uint8_t> beginning);

  std::span<const GgufEntry> metadata() const { return metadata_; }  // in the order of their keys
  std::span<const GgufTensor> tensors() const { return tensors_; }   // in the file's order

  // The entry, or nullptr.
  const GgufEntry* Find(std::string_view key) const;

  // The value of `key`, or nothing when it is absent; another type, or a number out of range, is an
  // error that names the key. T is bool, int64_t, double, string_view, or a vector of int64_t,
  // float or string_view. Any whole number type serves int64_t, any number serves double and float.
  template <typename T>
  Result<std::optional<T>> Get(std::string_view key) const;
  // The same where the key must be there.
  template <typename T>
  Result<T> Require(std::string_view key) const {
    ASSIGN_OR_RETURN(std::optional<T> value, Get<T>(key));
    if (!value) return MissingKey(key);
    return *std::move(value);
  }

 private:
  static Error MissingKey(std::string_view key);
  struct Head;
  static Result<Head> ReadHead(std::span<const std::uint8_t> file);

  std::vector<GgufEntry> metadata_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace tonnage
