#include "cli/reference_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "checkpoint/safetensors.h"

namespace tonnage::cli {
namespace {

constexpr std::string_view kWindowKey = "window";

std::span<const std::uint8_t> BytesOf(std::span<const float> values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

// The tensor of that name, type and number of extents.
Result<const SafetensorsTensor*> FindTensor(const Safetensors& file, std::string_view name,
                                            std::string_view type, size_t rank) {
  const SafetensorsTensor* tensor = file.Find(name);
  if (tensor == nullptr || tensor->type->name != type || tensor->shape.size() != rank) {
    return InvalidArgument("no reference of `tonnage eval --save`: no {} {} of {} extents", type,
                           name, rank);
  }
  return tensor;
}

Status CheckWindow(const Safetensors& file, const WindowedText& text) {
  for (const auto& [key, value] : file.metadata) {
    if (key != kWindowKey) continue;
    if (value == std::to_string(text.window)) return {};
    return InvalidArgument("the reference is of windows of {} tokens, this run of {}", value,
                           text.window);
  }
  return InvalidArgument("no reference of `tonnage eval --save`: it does not say its window");
}

Status CheckTokens(std::span<const std::uint8_t> data, const WindowedText& text) {
  std::vector<std::int32_t> ids(data.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), data.data(), data.size());
  if (ids == text.ids) return {};
  const auto [theirs, ours] = std::ranges::mismatch(ids, text.ids);
  return InvalidArgument(
      "the reference is of other tokens: it has {} and this text {}, and token {} is the first to "
      "differ",
      FormatThousands(static_cast<std::int64_t>(ids.size())), FormatThousands(text.tokens()),
      ours - text.ids.begin());
}

// The bytes of the rows of a file that fits the text.
Result<std::span<const std::uint8_t>> CheckedRows(std::span<const std::uint8_t> bytes,
                                                  const WindowedText& text) {
  ASSIGN_OR_RETURN(const Safetensors file, ParseSafetensors(bytes));
  ASSIGN_OR_RETURN(const SafetensorsTensor* ids, FindTensor(file, "ids", "I32", 1));
  ASSIGN_OR_RETURN(const SafetensorsTensor* log_probs, FindTensor(file, "log_probs", "F32", 2));
  if (log_probs->shape[1] != text.vocab) {
    return InvalidArgument("the reference is over a vocabulary of {} tokens, this model's has {}",
                           FormatThousands(log_probs->shape[1]), FormatThousands(text.vocab));
  }
  RETURN_IF_ERROR(CheckTokens(ids->data, text));
  RETURN_IF_ERROR(CheckWindow(file, text));
  if (log_probs->shape[0] != text.tokens()) {
    return InvalidArgument("the reference has {} rows for {} tokens", log_probs->shape[0],
                           text.tokens());
  }
  return log_probs->data;
}

}  // namespace

Bytes ReferenceBytes(const WindowedText& text) {
  return text.tokens() * static_cast<Bytes>(sizeof(std::int32_t)) +
         text.tokens() * text.vocab * static_cast<Bytes>(sizeof(float));
}

Result<ReferenceWriter> ReferenceWriter::Create(const std::string& path, const WindowedText& text) {
  const SafetensorsTensor tensors[] = {
      {.name = "ids", .type = FindSafetensorsType("I32"), .shape = {text.tokens()}, .data = {}},
      {.name = "log_probs",
       .type = FindSafetensorsType("F32"),
       .shape = {text.tokens(), text.vocab},
       .data = {}},
  };
  const std::pair<std::string, std::string> metadata[] = {
      {std::string(kWindowKey), std::to_string(text.window)}};
  ASSIGN_OR_RETURN(SafetensorsWriter writer, SafetensorsWriter::Create(path, tensors, metadata));
  RETURN_IF_ERROR(writer.Write(0, 0,
                               {reinterpret_cast<const std::uint8_t*>(text.ids.data()),
                                text.ids.size() * sizeof(std::int32_t)}));
  return ReferenceWriter(std::move(writer));
}

Status ReferenceWriter::Add(std::span<const float> log_probs) {
  RETURN_IF_ERROR(writer_.Write(1, written_, BytesOf(log_probs)));
  written_ += static_cast<Bytes>(log_probs.size_bytes());
  return {};
}

Result<ReferenceReader> ReferenceReader::Open(const std::string& path, const WindowedText& text) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  auto rows = CheckedRows(file.bytes(), text);
  if (!rows.ok()) return rows.error().In(path);
  return ReferenceReader(std::move(file), *rows);
}

void ReferenceReader::Read(std::int64_t index, std::span<float> row) const {
  const std::span source =
      log_probs_.subspan(static_cast<size_t>(index) * row.size_bytes(), row.size_bytes());
  std::memcpy(row.data(), source.data(), source.size());
  ReleasePages(source);
}

}  // namespace tonnage::cli
