#include "checkpoint/safetensors_writer.h"

namespace tonnage {

Result<SafetensorsWriter> SafetensorsWriter::Create(
    const std::string& path, std::span<const SafetensorsTensor> tensors,
    std::span<const std::pair<std::string, std::string>> metadata) {
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  SafetensorsWriter writer(std::move(file));
  const std::string header = SafetensorsHeader(tensors, metadata);
  Bytes at = static_cast<Bytes>(header.size());
  for (const SafetensorsTensor& tensor : tensors) {
    writer.begins_.push_back(at);
    at += SafetensorsBytes(tensor);
  }
  writer.begins_.push_back(at);
  RETURN_IF_ERROR(writer.file_.WriteAt(
      0, {reinterpret_cast<const std::uint8_t*>(header.data()), header.size()}));
  return writer;
}

Status SafetensorsWriter::Write(size_t index, Bytes offset, std::span<const std::uint8_t> bytes) {
  const Bytes begin = begins_[index] + offset;
  if (begin + static_cast<Bytes>(bytes.size()) > begins_[index + 1]) {
    return Internal("tensor {} was told smaller than it is", index);
  }
  written_ += static_cast<Bytes>(bytes.size());
  return file_.WriteAt(begin, bytes);
}

Status SafetensorsWriter::Finish() {
  const Bytes told = begins_.back() - begins_.front();
  if (written_ != told) return Internal("{} of {} bytes of tensors were written", written_, told);
  return file_.Finish();
}

}  // namespace tonnage
