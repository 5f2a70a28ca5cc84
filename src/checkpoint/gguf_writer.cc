#include "checkpoint/gguf_writer.h"

#include <cstring>

#include "base/check.h"

namespace tonnage {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint32_t kVersion = 3;
constexpr Bytes kAlignment = 32;
constexpr Bytes kCountsBytes = 4 + 4 + 8 + 8;  // magic, version, tensors, entries

template <typename T>
void AppendRaw(T value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void AppendString(std::string_view text, std::string& to) {
  AppendRaw<std::uint64_t>(text.size(), to);
  to += text;
}
void AppendType(GgufType type, std::string& to) { AppendRaw(static_cast<std::uint32_t>(type), to); }
void AppendBytes(std::span<const std::uint8_t> bytes, std::string& to) {
  to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

void GgufWriter::Add(const GgufEntry& entry) {
  ++entry_count_;
  AppendString(entry.key, entries_);
  AppendType(entry.type, entries_);
  if (entry.type == GgufType::kArray) {
    AppendType(entry.array.type, entries_);
    AppendRaw(entry.array.count, entries_);
    AppendBytes(entry.array.bytes, entries_);
    return;
  }
  if (entry.type == GgufType::kString) AppendRaw<std::uint64_t>(entry.bytes.size(), entries_);
  AppendBytes(entry.bytes, entries_);
}

void GgufWriter::AddString(std::string_view key, std::string_view value) {
  Add({.key = key,
       .type = GgufType::kString,
       .bytes = {reinterpret_cast<const std::uint8_t*>(value.data()), value.size()},
       .array = {}});
}

void GgufWriter::AddU32(std::string_view key, std::uint32_t value) {
  Add({.key = key,
       .type = GgufType::kU32,
       .bytes = {reinterpret_cast<const std::uint8_t*>(&value), sizeof value},
       .array = {}});
}

size_t GgufWriter::AddTensor(std::string_view name, const Shape& shape, const GgmlType& type) {
  AppendString(name, infos_);
  AppendRaw(static_cast<std::uint32_t>(shape.rank()), infos_);
  for (int i = shape.rank(); i > 0; --i)
    AppendRaw(static_cast<std::uint64_t>(shape[i - 1]), infos_);
  AppendRaw(type.id, infos_);
  AppendRaw(static_cast<std::uint64_t>(data_bytes_), infos_);
  const Bytes bytes = shape.elements() / type.block_elements * type.block_bytes;
  tensors_.push_back({data_bytes_, bytes});
  data_bytes_ = RoundUp(data_bytes_ + bytes, kAlignment);
  return tensors_.size() - 1;
}

Bytes GgufWriter::HeaderBytes() const {
  return RoundUp(kCountsBytes + static_cast<Bytes>(entries_.size() + infos_.size()), kAlignment);
}

Status GgufWriter::Create(const std::string& path) {
  ASSIGN_OR_RETURN(file_, OutputFile::Create(path));
  std::string header;
  AppendRaw(kMagic, header);
  AppendRaw(kVersion, header);
  AppendRaw<std::uint64_t>(tensors_.size(), header);
  AppendRaw(entry_count_, header);
  header += entries_;
  header += infos_;
  header.resize(static_cast<size_t>(HeaderBytes()), '\0');
  RETURN_IF_ERROR(
      file_->WriteAt(0, {reinterpret_cast<const std::uint8_t*>(header.data()), header.size()}));
  // The padding after the last tensor, so that the file is as long as it says.
  const std::uint8_t zero[1] = {};
  return data_bytes_ == 0 ? Status() : file_->WriteAt(FileBytes() - 1, zero);
}

Status GgufWriter::Write(size_t index, Bytes offset, std::span<const std::uint8_t> bytes) {
  CHECK(file_.has_value()) << "Create comes first";
  const Tensor& tensor = tensors_[index];
  if (offset + static_cast<Bytes>(bytes.size()) > tensor.bytes) {
    return Internal("tensor {} was told smaller than it is", index);
  }
  written_ += static_cast<Bytes>(bytes.size());
  return file_->WriteAt(HeaderBytes() + tensor.begin + offset, bytes);
}

Status GgufWriter::Finish() {
  Bytes told = 0;
  for (const Tensor& tensor : tensors_) told += tensor.bytes;
  if (written_ != told) return Internal("{} of {} bytes of tensors were written", written_, told);
  return file_->Finish();
}

}  // namespace tonnage
