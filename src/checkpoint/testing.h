// What the tests and fuzzers of this layer build files with. Not for other use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing.h"
#include "checkpoint/gguf.h"
#include "checkpoint/safetensors.h"

namespace tonnage::testing {

inline std::span<const std::uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

template <typename T>
std::string Raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}
inline std::string GgufString(std::string_view text) {
  return Raw<std::uint64_t>(text.size()) + std::string(text);
}
inline std::string GgufTypeId(GgufType type) { return Raw(static_cast<std::uint32_t>(type)); }

// One tensor's description; extents in the file's order, innermost first.
inline std::string GgufTensorInfo(std::string_view name, const std::vector<std::uint64_t>& extents,
                                  std::uint32_t type, std::uint64_t offset) {
  std::string text = GgufString(name) + Raw(static_cast<std::uint32_t>(extents.size()));
  for (std::uint64_t extent : extents) text += Raw(extent);
  return text + Raw(type) + Raw(offset);
}

// A GGUF file in parts, which a test may spoil one by one.
struct GgufParts {
  std::uint32_t magic = 0x46554747;
  std::uint32_t version = 3;
  std::vector<std::string> entries;  // key, type and value each
  std::vector<std::string> tensors;  // GgufTensorInfo each
  std::string data;
  std::uint64_t extra_entries = 0, extra_tensors = 0;  // told of in the header, but not there
  size_t alignment = 32;

  void Add(std::string_view key, GgufType type, std::string_view value) {
    entries.push_back(GgufString(key) + GgufTypeId(type) + std::string(value));
  }
  void AddArray(std::string_view key, GgufType type, std::uint64_t count,
                std::string_view elements) {
    Add(key, GgufType::kArray, GgufTypeId(type) + Raw(count) + std::string(elements));
  }
  std::string Build() const {
    std::string file = Raw(magic) + Raw(version) +
                       Raw<std::uint64_t>(tensors.size() + extra_tensors) +
                       Raw<std::uint64_t>(entries.size() + extra_entries);
    for (const std::string& entry : entries) file += entry;
    for (const std::string& tensor : tensors) file += tensor;
    if (!tensors.empty()) file.resize((file.size() + alignment - 1) / alignment * alignment, '\0');
    return file + data;
  }
};

// A safetensors file with any header and data.
inline std::string SafetensorsFile(std::string_view header, std::string_view data) {
  return Raw<std::uint64_t>(header.size()) + std::string(header) + std::string(data);
}

inline SafetensorsTensor MakeTensor(std::string name, std::string_view type,
                                    std::vector<std::int64_t> shape, std::string_view data) {
  return {std::move(name), FindSafetensorsType(type), std::move(shape), AsBytes(data)};
}

}  // namespace tonnage::testing
