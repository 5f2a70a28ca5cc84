// Reads GGUF's little-endian values forward out of bytes, and never beyond them. Shared by the
// parser and by the typed access to what it parsed.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/result.h"
#include "checkpoint/gguf.h"

namespace tonnage::internal {

static_assert(std::endian::native == std::endian::little,
              "values are copied out of little-endian files as they lie");

// Of one element, in bytes; of strings and arrays: the least that one takes, which is its length
// field.
constexpr std::uint64_t GgufTypeBytes(GgufType type) {
  constexpr std::uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return kBytes[static_cast<size_t>(type)];
}

template <typename T>
T LoadGguf(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Reads forward through bytes and never beyond them.
class GgufCursor {
 public:
  explicit GgufCursor(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t position() const { return position_; }
  std::uint64_t left() const { return bytes_.size() - position_; }

  Result<std::span<const std::uint8_t>> Take(std::uint64_t count) {
    if (count > left()) {
      return Unreadable("{} bytes are wanted at byte {}, but the file has {}: cut short?", count,
                        position_, bytes_.size());
    }
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }
  template <typename T>
  Result<T> Read() {
    ASSIGN_OR_RETURN(const auto bytes, Take(sizeof(T)));
    return LoadGguf<T>(bytes.data());
  }
  Result<std::string_view> ReadString() {
    ASSIGN_OR_RETURN(const auto length, Read<std::uint64_t>());
    ASSIGN_OR_RETURN(const auto bytes, Take(length));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  Result<GgufType> ReadType() {
    ASSIGN_OR_RETURN(const auto type, Read<std::uint32_t>());
    if (type > static_cast<std::uint32_t>(GgufType::kF64))
      return Unreadable("has the unknown value type {}", type);
    return static_cast<GgufType>(type);
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::uint64_t position_ = 0;
};

}  // namespace tonnage::internal
