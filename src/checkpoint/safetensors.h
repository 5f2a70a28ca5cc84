// One safetensors file: an 8-byte little-endian header length, a JSON header, then the tensors'
// bytes without gaps. What is returned borrows the bytes that were parsed. Every offset and size
// has been checked: a tensor's data is inside the file, overlaps no other, and is exactly as long
// as its type and shape say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tonnage {

struct SafetensorsType {
  std::string_view name;  // as in the header: "BF16"
  int bits;               // of one element
};
// The type of that name, or nullptr.
const SafetensorsType* FindSafetensorsType(std::string_view name);

struct SafetensorsTensor {
  std::string name;
  const SafetensorsType* type = nullptr;
  std::vector<std::int64_t> shape;  // at most 8 extents, outermost first
  std::span<const std::uint8_t> data;
};

struct Safetensors {
  std::vector<SafetensorsTensor> tensors;                     // in the order of their names
  std::vector<std::pair<std::string, std::string>> metadata;  // `__metadata__`

  const SafetensorsTensor* Find(std::string_view name) const;
};

Result<Safetensors> ParseSafetensors(std::span<const std::uint8_t> file);

// What the type and the shape call for, which must be a whole number of bytes.
std::int64_t SafetensorsBytes(const SafetensorsTensor& tensor);

// The length and the header of a file that holds `tensors` in the given order, whose data need not
// be there yet and follows without gaps. The header is padded with spaces to a multiple of 8.
std::string SafetensorsHeader(std::span<const SafetensorsTensor> tensors,
                              std::span<const std::pair<std::string, std::string>> metadata = {});
Status WriteSafetensors(const std::string& path, std::span<const SafetensorsTensor> tensors,
                        std::span<const std::pair<std::string, std::string>> metadata = {});

// "[2, 3]".
std::string ExtentsToString(std::span<const std::int64_t> extents);

}  // namespace tonnage
