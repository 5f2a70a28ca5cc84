#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/bytes.h"
#include "checkpoint/json_events.h"
#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own bound
constexpr size_t kHighestRank = 8;

constexpr std::array kTypes = {
    SafetensorsType{"BOOL", 8},    SafetensorsType{"F4", 4},      SafetensorsType{"F6_E2M3", 6},
    SafetensorsType{"F6_E3M2", 6}, SafetensorsType{"U8", 8},      SafetensorsType{"I8", 8},
    SafetensorsType{"F8_E5M2", 8}, SafetensorsType{"F8_E4M3", 8}, SafetensorsType{"F8_E8M0", 8},
    SafetensorsType{"I16", 16},    SafetensorsType{"U16", 16},    SafetensorsType{"F16", 16},
    SafetensorsType{"BF16", 16},   SafetensorsType{"I32", 32},    SafetensorsType{"U32", 32},
    SafetensorsType{"F32", 32},    SafetensorsType{"C64", 64},    SafetensorsType{"F64", 64},
    SafetensorsType{"I64", 64},    SafetensorsType{"U64", 64},
};

// A tensor as the header states it, before anything about it is believed.
struct Entry {
  std::string name;
  const SafetensorsType* type = nullptr;
  std::optional<std::vector<std::int64_t>> shape;
  std::vector<std::uint64_t> offsets;  // begin and end, in bytes from the end of the header

  std::uint64_t begin() const { return offsets[0]; }
  std::uint64_t end() const { return offsets[1]; }
};

class HeaderReader final : public JsonEvents {
 public:
  std::vector<Entry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;

 private:
  enum class In { kStart, kHeader, kMetadata, kTensor, kShape, kOffsets };

  std::string Where() const override {
    if (in_ == In::kStart) return "safetensors header";
    if (in_ == In::kHeader && key_.empty()) {
      return entries.empty()
                 ? "safetensors header"
                 : fmt::format("safetensors header, after tensor {}", Quoted(entries.back().name));
    }
    if (in_ == In::kHeader) return fmt::format("safetensors header, {}", Quoted(key_));
    if (in_ == In::kMetadata) return fmt::format("`__metadata__`, {}", Quoted(key_));
    const std::string tensor = fmt::format("tensor {}", Quoted(entries.back().name));
    return key_.empty() ? tensor : fmt::format("{}, {}", tensor, Quoted(key_));
  }

  bool start_object(size_t) override {
    if (in_ == In::kStart) {
      in_ = In::kHeader;
    } else if (in_ == In::kHeader && key_ == "__metadata__") {
      if (seen_metadata_)
        return Fail(Unreadable("safetensors header: `__metadata__` stands twice"));
      seen_metadata_ = true;
      in_ = In::kMetadata;
      key_.clear();
    } else if (in_ == In::kHeader) {
      entries.emplace_back().name = std::move(key_);
      in_ = In::kTensor;
      key_.clear();
    } else {
      return Unexpected("an object");
    }
    return true;
  }

  bool key(std::string& key) override {
    key_ = key;
    if (in_ != In::kTensor) return true;
    const Entry& entry = entries.back();
    const bool twice = key == "dtype"          ? entry.type != nullptr
                       : key == "shape"        ? entry.shape.has_value()
                       : key == "data_offsets" ? !entry.offsets.empty()
                                               : false;
    return twice ? Fail(Unreadable("{}: stands twice", Where())) : true;
  }

  bool null() override {
    return in_ == In::kHeader && key_ == "__metadata__" ? true : Unexpected("null");
  }

  bool string(std::string& value) override {
    if (in_ == In::kMetadata) {
      metadata.emplace_back(key_, value);
      return true;
    }
    if (in_ != In::kTensor || key_ != "dtype") return Unexpected("a string");
    entries.back().type = FindSafetensorsType(value);
    if (entries.back().type != nullptr) return true;
    return Fail(Unsupported("tensor {} has the unknown dtype {}", Quoted(entries.back().name),
                            Quoted(value)));
  }

  bool start_array(size_t) override {
    if (in_ != In::kTensor || (key_ != "shape" && key_ != "data_offsets"))
      return Unexpected("an array");
    in_ = key_ == "shape" ? In::kShape : In::kOffsets;
    if (in_ == In::kShape) entries.back().shape.emplace();
    return true;
  }

  bool number_unsigned(std::uint64_t number) override {
    if (in_ == In::kShape) {
      std::vector<std::int64_t>& shape = *entries.back().shape;
      if (number > static_cast<std::uint64_t>(INT64_MAX))
        return Unexpected("a number that is too large");
      if (shape.size() == kHighestRank) {
        return Fail(Unsupported("{}: more than {} dimensions", Where(), kHighestRank));
      }
      shape.push_back(static_cast<std::int64_t>(number));
      return true;
    }
    if (in_ == In::kOffsets && entries.back().offsets.size() < 2) {
      entries.back().offsets.push_back(number);
      return true;
    }
    return Unexpected("a number");
  }

  bool end_array() override {
    if (in_ == In::kOffsets && entries.back().offsets.size() != 2) {
      return Fail(Unreadable("{}: must hold a begin and an end", Where()));
    }
    in_ = In::kTensor;
    return true;
  }

  bool end_object() override {
    if (in_ == In::kTensor) {
      const Entry& entry = entries.back();
      const char* missing = entry.type == nullptr   ? "dtype"
                            : !entry.shape          ? "shape"
                            : entry.offsets.empty() ? "data_offsets"
                                                    : nullptr;
      if (missing != nullptr) {
        return Fail(Unreadable("tensor {} has no `{}`", Quoted(entry.name), missing));
      }
    }
    key_.clear();
    in_ = In::kHeader;  // of the header itself too: the parser allows nothing after that
    return true;
  }

  In in_ = In::kStart;
  std::string key_;
  bool seen_metadata_ = false;
};

// The bytes that type and shape call for, or nothing if that overflows or ends inside a byte.
std::optional<std::uint64_t> DataBytes(const Entry& entry) {
  std::optional<std::int64_t> bits = entry.type->bits;
  for (std::int64_t extent : *entry.shape) {
    if (bits) bits = CheckedMul(*bits, extent);
  }
  if (!bits || *bits % 8 != 0) return std::nullopt;
  return static_cast<std::uint64_t>(*bits / 8);
}

Status CheckEntry(const Entry& entry, std::uint64_t data_begin, std::uint64_t file_bytes) {
  const std::string name = Quoted(entry.name);
  if (entry.end() < entry.begin()) {
    return Unreadable("tensor {} ends at byte {} of the data, before it begins at {}", name,
                      entry.end(), entry.begin());
  }
  if (entry.end() > file_bytes - data_begin) {
    const std::optional<std::int64_t> end =
        entry.end() > static_cast<std::uint64_t>(INT64_MAX)
            ? std::nullopt
            : CheckedAdd(static_cast<std::int64_t>(data_begin),
                         static_cast<std::int64_t>(entry.end()));
    return Unreadable("tensor {} ends at byte {}, but the file has {}: cut short?", name,
                      end ? FormatThousands(*end) : std::to_string(entry.end()),
                      FormatThousands(static_cast<std::int64_t>(file_bytes)));
  }
  const std::optional<std::uint64_t> wanted = DataBytes(entry);
  if (!wanted) {
    return Unreadable("tensor {} is {} {}, which is no whole number of bytes or too large", name,
                      entry.type->name, ExtentsToString(*entry.shape));
  }
  if (*wanted != entry.end() - entry.begin()) {
    return Unreadable("tensor {} is {} {}, which takes {} bytes, but its `data_offsets` span {}",
                      name, entry.type->name, ExtentsToString(*entry.shape), *wanted,
                      entry.end() - entry.begin());
  }
  return {};
}

// Every byte of the data belongs to one tensor. `entries` are in the order of their offsets.
Status CheckCoverage(std::span<const Entry> entries, std::uint64_t data_bytes) {
  const Entry* previous = nullptr;
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin() < covered) {
      return Unreadable(
          "tensor {} overlaps tensor {}: it begins at byte {} of the data, the other ends at {}",
          Quoted(entry.name), Quoted(previous->name), entry.begin(), covered);
    }
    if (entry.begin() > covered) {
      return Unreadable(
          "tensor {} begins at byte {} of the data, but bytes {} to {} before it belong to no "
          "tensor",
          Quoted(entry.name), entry.begin(), covered, entry.begin());
    }
    covered = entry.end();
    previous = &entry;
  }
  if (covered != data_bytes) {
    return Unreadable("{} bytes after the last tensor{} belong to no tensor", data_bytes - covered,
                      previous == nullptr ? "" : fmt::format(" {}", Quoted(previous->name)));
  }
  return {};
}

Result<std::string_view> FindHeader(std::span<const std::uint8_t> file) {
  if (file.size() < kLengthBytes) {
    return Unreadable("not a safetensors file: {} bytes long, too short for the header's length",
                      file.size());
  }
  std::uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= std::uint64_t{file[i]} << (8 * i);
  if (length > kLongestHeader) {
    return Unreadable("not a safetensors file: a header of {} bytes, more than the format's {}",
                      length, kLongestHeader);
  }
  if (length > file.size() - kLengthBytes) {
    return Unreadable("the safetensors header ends at byte {}, but the file has {}: cut short?",
                      kLengthBytes + length, file.size());
  }
  const auto text = file.subspan(kLengthBytes, length);
  if (text.empty() || text[0] != '{')
    return Unreadable("not a safetensors file: the header does not begin with `{{`");
  return std::string_view(reinterpret_cast<const char*>(text.data()), text.size());
}

}  // namespace

const SafetensorsType* FindSafetensorsType(std::string_view name) {
  for (const SafetensorsType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const SafetensorsTensor* Safetensors::Find(std::string_view name) const {
  const auto it =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const SafetensorsTensor& t, std::string_view n) { return t.name < n; });
  return it == tensors.end() || it->name != name ? nullptr : &*it;
}

Result<Safetensors> ParseSafetensors(std::span<const std::uint8_t> file) {
  ASSIGN_OR_RETURN(const std::string_view header, FindHeader(file));
  HeaderReader reader;
  RETURN_IF_ERROR(reader.Read(header));

  std::vector<Entry>& entries = reader.entries;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
  const std::uint64_t data_begin = kLengthBytes + header.size();
  for (const Entry& entry : entries) RETURN_IF_ERROR(CheckEntry(entry, data_begin, file.size()));
  RETURN_IF_ERROR(CheckCoverage(entries, file.size() - data_begin));

  Safetensors result{.tensors = {}, .metadata = std::move(reader.metadata)};
  result.tensors.reserve(entries.size());
  for (Entry& entry : entries) {
    result.tensors.push_back(
        {std::move(entry.name), entry.type, *std::move(entry.shape),
         file.subspan(data_begin + entry.begin(), entry.end() - entry.begin())});
  }
  std::sort(result.tensors.begin(), result.tensors.end(),
            [](const SafetensorsTensor& a, const SafetensorsTensor& b) { return a.name < b.name; });
  for (size_t i = 1; i < result.tensors.size(); ++i) {
    if (result.tensors[i].name == result.tensors[i - 1].name) {
      return Unreadable("tensor {} stands twice in the header", Quoted(result.tensors[i].name));
    }
  }
  return result;
}

std::int64_t SafetensorsBytes(const SafetensorsTensor& tensor) {
  std::int64_t bits = tensor.type->bits;
  for (const std::int64_t extent : tensor.shape) bits *= extent;
  return bits / 8;
}

std::string SafetensorsHeader(std::span<const SafetensorsTensor> tensors,
                              std::span<const std::pair<std::string, std::string>> metadata) {
  // Written by hand rather than through a Json object, whose look-up of each new key takes time in
  // their number.
  const auto quoted = [](const std::string& text) { return DumpJson(Json(text)); };
  std::string json = "{";
  if (!metadata.empty()) {
    std::string pairs;
    for (const auto& [key, value] : metadata) {
      pairs += fmt::format("{}{}:{}", pairs.empty() ? "" : ",", quoted(key), quoted(value));
    }
    json += fmt::format("\"__metadata__\":{{{}}}", pairs);
  }
  std::int64_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const std::int64_t end = offset + SafetensorsBytes(tensor);
    json += fmt::format(R"({}{}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                        json.size() == 1 ? "" : ",", quoted(tensor.name), tensor.type->name,
                        ExtentsToString(tensor.shape), offset, end);
    offset = end;
  }
  json += "}";
  json.resize(static_cast<size_t>(RoundUp(static_cast<Bytes>(json.size()), 8)), ' ');

  std::string length(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<char>(json.size() >> (8 * i));
  return length + json;
}

Status WriteSafetensors(const std::string& path, std::span<const SafetensorsTensor> tensors,
                        std::span<const std::pair<std::string, std::string>> metadata) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const std::string header = SafetensorsHeader(tensors, metadata);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const SafetensorsTensor& tensor : tensors) {
    out.write(reinterpret_cast<const char*>(tensor.data.data()),
              static_cast<std::streamsize>(tensor.data.size()));
  }
  out.close();
  if (!out)
    return Error(Code::kInternal,
                 fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  return {};
}

std::string ExtentsToString(std::span<const std::int64_t> extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

}  // namespace tonnage
