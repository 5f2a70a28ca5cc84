#include "checkpoint/gguf.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/bytes.h"
#include "checkpoint/gguf_cursor.h"
#include "checkpoint/quoted.h"

namespace tonnage {
namespace {

using internal::GgufCursor;
using internal::GgufTypeBytes;

constexpr std::uint64_t kLongestName = 65535;  // of a key or a tensor
constexpr int kDeepestArray = 4;
constexpr std::uint64_t kSmallestEntryBytes = 8 + 4 + 1;  // key length, type, the smallest value
constexpr std::uint64_t kSmallestTensorBytes = 8 + 4 + 4 + 8;  // name length, rank, type, offset
constexpr std::int64_t kDefaultAlignment = 32;
constexpr std::int64_t kLargestAlignment = std::int64_t{1} << 30;
constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"

constexpr GgmlType kGgmlTypes[] = {
    {0, "F32", 1, 4, FormatKind::kF32},
    {1, "F16", 1, 2, FormatKind::kF16},
    {2, "Q4_0", 32, 18, FormatKind::kQ4_0},
    {3, "Q4_1", 32, 20, FormatKind::kQ4_1},
    {6, "Q5_0", 32, 22, FormatKind::kQ5_0},
    {7, "Q5_1", 32, 24, FormatKind::kQ5_1},
    {8, "Q8_0", 32, 34, FormatKind::kQ8_0},
    {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84, FormatKind::kQ2_K},
    {11, "Q3_K", 256, 110, FormatKind::kQ3_K},
    {12, "Q4_K", 256, 144, FormatKind::kQ4_K},
    {13, "Q5_K", 256, 176, FormatKind::kQ5_K},
    {14, "Q6_K", 256, 210, FormatKind::kQ6_K},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18, FormatKind::kIQ4_NL},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136, FormatKind::kIQ4_XS},
    {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, FormatKind::kBF16},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17, FormatKind::kMxfp4Gguf},
    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
};

Status CheckBools(std::span<const std::uint8_t> bytes) {
  for (std::uint8_t byte : bytes) {
    if (byte > 1) return Unreadable("holds a boolean of {}, which is neither 0 nor 1", byte);
  }
  return {};
}

// Reads past an array's elements, checking that each lies inside the file.
Result<GgufArray> ReadArray(GgufCursor& cursor, std::span<const std::uint8_t> file, int depth) {
  if (depth == kDeepestArray)
    return Unreadable("nests arrays deeper than {} levels", kDeepestArray);
  GgufArray array;
  ASSIGN_OR_RETURN(array.type, cursor.ReadType());
  ASSIGN_OR_RETURN(array.count, cursor.Read<std::uint64_t>());
  if (array.count > cursor.left() / GgufTypeBytes(array.type)) {
    return Unreadable("is an array of {} {}s, but the file has only {} bytes left: cut short?",
                      array.count, GgufTypeName(array.type), cursor.left());
  }
  const std::uint64_t begin = cursor.position();
  if (array.type == GgufType::kString) {
    for (std::uint64_t i = 0; i < array.count; ++i) RETURN_IF_ERROR(cursor.ReadString());
  } else if (array.type == GgufType::kArray) {
    for (std::uint64_t i = 0; i < array.count; ++i)
      RETURN_IF_ERROR(ReadArray(cursor, file, depth + 1));
  } else {
    RETURN_IF_ERROR(cursor.Take(array.count * GgufTypeBytes(array.type)));
  }
  array.bytes = file.subspan(begin, cursor.position() - begin);
  if (array.type == GgufType::kBool) RETURN_IF_ERROR(CheckBools(array.bytes));
  return array;
}

Status ReadValue(GgufCursor& cursor, std::span<const std::uint8_t> file, GgufEntry& entry) {
  ASSIGN_OR_RETURN(entry.type, cursor.ReadType());
  switch (entry.type) {
    case GgufType::kString: {
      ASSIGN_OR_RETURN(const std::string_view text, cursor.ReadString());
      entry.bytes = {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
      return {};
    }
    case GgufType::kArray: {
      ASSIGN_OR_RETURN(entry.array, ReadArray(cursor, file, 0));
      return {};
    }
    default: {
      ASSIGN_OR_RETURN(entry.bytes, cursor.Take(GgufTypeBytes(entry.type)));
      return entry.type == GgufType::kBool ? CheckBools(entry.bytes) : Status();
    }
  }
}

Result<std::string_view> ReadName(GgufCursor& cursor) {
  ASSIGN_OR_RETURN(const std::string_view name, cursor.ReadString());
  if (name.empty()) return Unreadable("the name is empty");
  if (name.size() > kLongestName) return Unreadable("the name is {} bytes long", name.size());
  return name;
}

// Where a list breaks off, for what has no name yet: "tensor 12 of 40, after
// `blk.0.attn_v.weight`".
std::string Place(std::string_view what, size_t number, std::uint64_t count,
                  std::string_view previous) {
  const std::string place = fmt::format("{} {} of {}", what, number, count);
  return previous.empty() ? place : fmt::format("{}, after {}", place, Quoted(previous));
}

Result<std::vector<GgufEntry>> ReadMetadata(GgufCursor& cursor, std::span<const std::uint8_t> file,
                                            std::uint64_t count) {
  std::vector<GgufEntry> entries;
  std::string_view previous;
  while (entries.size() < count) {
    GgufEntry& entry = entries.emplace_back();
    Result<std::string_view> key = ReadName(cursor);
    if (!key.ok()) return key.error().In(Place("metadata key", entries.size(), count, previous));
    entry.key = previous = *key;
    const Status status = ReadValue(cursor, file, entry);
    if (!status.ok()) return status.error().In(fmt::format("metadata {}", Quoted(entry.key)));
  }
  std::sort(entries.begin(), entries.end(),
            [](const GgufEntry& a, const GgufEntry& b) { return a.key < b.key; });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].key == entries[i - 1].key)
      return Unreadable("metadata {} stands twice", Quoted(entries[i].key));
  }
  return entries;
}

// A tensor's description, and where its data begins within the data section.
struct TensorInfo {
  GgufTensor tensor;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

Result<std::uint64_t> TensorBytes(const GgufTensor& tensor) {
  std::optional<std::int64_t> elements = 1;
  for (int i = 0; i < tensor.shape.rank(); ++i)
    elements = elements ? CheckedMul(*elements, tensor.shape[i]) : elements;
  const std::int64_t row = tensor.shape.rank() == 0 ? 1 : tensor.shape[tensor.shape.rank() - 1];
  if (row % tensor.type->block_elements != 0) {
    return Unreadable("its rows have {} elements, which is no multiple of {}'s block of {}", row,
                      tensor.type->name, tensor.type->block_elements);
  }
  const auto bytes =
      elements ? CheckedMul(*elements / tensor.type->block_elements, tensor.type->block_bytes)
               : std::nullopt;
  if (!bytes)
    return Unreadable("the size of {} {} overflows", tensor.type->name, tensor.shape.ToString());
  return static_cast<std::uint64_t>(*bytes);
}

Status ReadTensorInfo(GgufCursor& cursor, TensorInfo& info) {
  ASSIGN_OR_RETURN(const auto rank, cursor.Read<std::uint32_t>());
  if (rank > static_cast<std::uint32_t>(Shape::kMaxRank)) {
    return Unreadable("has {} dimensions, more than {}", rank, Shape::kMaxRank);
  }
  std::array<std::int64_t, Shape::kMaxRank> extents{};
  for (std::uint32_t i = 0; i < rank; ++i) {
    ASSIGN_OR_RETURN(const auto extent, cursor.Read<std::uint64_t>());
    if (extent > static_cast<std::uint64_t>(INT64_MAX))
      return Unreadable("has an extent of {}", extent);
    extents[i] = static_cast<std::int64_t>(extent);
  }
  for (std::uint32_t i = rank; i > 0; --i) info.tensor.shape.Append(extents[i - 1]);
  ASSIGN_OR_RETURN(const auto type, cursor.Read<std::uint32_t>());
  info.tensor.type = FindGgmlType(type);
  if (info.tensor.type == nullptr) return Unsupported("has the unknown type {}", type);
  ASSIGN_OR_RETURN(info.bytes, TensorBytes(info.tensor));
  ASSIGN_OR_RETURN(info.offset, cursor.Read<std::uint64_t>());
  return {};
}

Result<std::vector<TensorInfo>> ReadTensorInfos(GgufCursor& cursor, std::uint64_t count) {
  std::vector<TensorInfo> infos;
  std::string_view previous;
  while (infos.size() < count) {
    TensorInfo& info = infos.emplace_back();
    Result<std::string_view> name = ReadName(cursor);
    if (!name.ok()) return name.error().In(Place("tensor", infos.size(), count, previous));
    info.tensor.name = previous = *name;
    const Status status = ReadTensorInfo(cursor, info);
    if (!status.ok()) return status.error().In(fmt::format("tensor {}", Quoted(info.tensor.name)));
  }
  return infos;
}

// Gives each tensor its bytes: inside the file, aligned, and no other tensor's.
Status PlaceTensors(std::span<TensorInfo> infos, std::span<const std::uint8_t> file,
                    std::uint64_t data_begin, std::uint64_t alignment) {
  // A file without tensors (a vocabulary alone) may end before the data section would begin.
  const std::uint64_t data_bytes = data_begin > file.size() ? 0 : file.size() - data_begin;
  std::vector<const TensorInfo*> order;
  order.reserve(infos.size());
  for (TensorInfo& info : infos) {
    const std::string name = Quoted(info.tensor.name);
    if (info.offset % alignment != 0) {
      return Unreadable("tensor {} lies at offset {}, which is no multiple of the alignment of {}",
                        name, info.offset, alignment);
    }
    if (info.offset > data_bytes || info.bytes > data_bytes - info.offset) {
      return Unreadable(
          "tensor {} wants {} bytes at offset {} of the data, but the file has {} there: cut "
          "short?",
          name, info.bytes, info.offset, data_bytes - std::min(data_bytes, info.offset));
    }
    if (info.bytes > 0) info.tensor.data = file.subspan(data_begin + info.offset, info.bytes);
    order.push_back(&info);
  }
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->tensor.name < b->tensor.name; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->tensor.name == order[i - 1]->tensor.name) {
      return Unreadable("tensor {} stands twice", Quoted(order[i]->tensor.name));
    }
  }
  std::erase_if(order, [](const TensorInfo* info) { return info->bytes == 0; });
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes) {
      return Unreadable(
          "tensor {} overlaps tensor {}: it begins at offset {}, the other ends at {}",
          Quoted(order[i]->tensor.name), Quoted(order[i - 1]->tensor.name), order[i]->offset,
          order[i - 1]->offset + order[i - 1]->bytes);
    }
  }
  return {};
}

Status CheckHeader(GgufCursor& cursor) {
  Result<std::uint32_t> magic = cursor.Read<std::uint32_t>();
  if (!magic.ok() || *magic != kMagic)
    return Unreadable("not a GGUF file: it does not begin with `GGUF`");
  ASSIGN_OR_RETURN(const auto version, cursor.Read<std::uint32_t>());
  if ((version & 0xffff) == 0 && version != 0)
    return Unsupported("a big-endian GGUF file, which is not read");
  if (version != 2 && version != 3)
    return Unsupported("GGUF version {} is not read; versions 2 and 3 are", version);
  return {};
}

Status CheckCount(std::uint64_t count, std::uint64_t smallest_bytes, const GgufCursor& cursor,
                  std::string_view what) {
  if (count <= cursor.left() / smallest_bytes) return {};
  return Unreadable("the header tells of {} {}, but the file has only {} bytes left: cut short?",
                    count, what, cursor.left());
}

}  // namespace

std::string_view GgufTypeName(GgufType type) {
  constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64"};
  return kNames[static_cast<size_t>(type)];
}

const GgmlType* FindGgmlType(std::uint32_t id) {
  for (const GgmlType& type : kGgmlTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

const GgmlType* FindGgmlType(std::string_view name) {
  for (const GgmlType& type : kGgmlTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

// All that stands before the tensors' data.
struct Gguf::Head {
  Gguf gguf;  // with its metadata
  std::vector<TensorInfo> infos;
  std::uint64_t alignment;
  std::uint64_t bytes;
};

Result<Gguf::Head> Gguf::ReadHead(std::span<const std::uint8_t> file) {
  GgufCursor cursor(file);
  RETURN_IF_ERROR(CheckHeader(cursor));
  ASSIGN_OR_RETURN(const auto tensor_count, cursor.Read<std::uint64_t>());
  ASSIGN_OR_RETURN(const auto entry_count, cursor.Read<std::uint64_t>());
  RETURN_IF_ERROR(CheckCount(entry_count, kSmallestEntryBytes, cursor, "metadata entries"));
  RETURN_IF_ERROR(CheckCount(tensor_count, kSmallestTensorBytes, cursor, "tensors"));

  Gguf gguf;
  ASSIGN_OR_RETURN(gguf.metadata_, ReadMetadata(cursor, file, entry_count));
  ASSIGN_OR_RETURN(const auto set_alignment, gguf.Get<std::int64_t>("general.alignment"));
  const std::int64_t alignment = set_alignment.value_or(kDefaultAlignment);
  if (alignment <= 0 || alignment > kLargestAlignment || (alignment & (alignment - 1)) != 0) {
    return Unreadable("metadata `general.alignment` is {}, which is no power of two up to {}",
                      alignment, kLargestAlignment);
  }
  ASSIGN_OR_RETURN(std::vector<TensorInfo> infos, ReadTensorInfos(cursor, tensor_count));
  return Head{std::move(gguf), std::move(infos), static_cast<std::uint64_t>(alignment),
              cursor.position()};
}

Result<std::uint64_t> Gguf::HeaderBytes(std::span<const std::uint8_t> beginning) {
  ASSIGN_OR_RETURN(const Head head, ReadHead(beginning));
  return head.bytes;
}

Result<Gguf> Gguf::Parse(std::span<const std::uint8_t> file) {
  ASSIGN_OR_RETURN(Head head, ReadHead(file));
  const auto data_begin = static_cast<std::uint64_t>(
      RoundUp(static_cast<std::int64_t>(head.bytes), static_cast<std::int64_t>(head.alignment)));
  RETURN_IF_ERROR(PlaceTensors(head.infos, file, data_begin, head.alignment));
  Gguf gguf = std::move(head.gguf);
  gguf.tensors_.reserve(head.infos.size());
  for (const TensorInfo& info : head.infos) gguf.tensors_.push_back(info.tensor);
  return gguf;
}

}  // namespace tonnage
