// What one run of `tonnage eval` predicted, kept for others to be compared with: a safetensors file
// with `ids` I32 [tokens] and `log_probs` F32 [tokens, vocab], and the window in its metadata. It
// is written and read row by row, so that it may be larger than memory. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/safetensors_writer.h"

namespace tonnage::cli {

// A text as a model sees it: windows of tokens, each evaluated alone.
struct WindowedText {
  std::vector<std::int32_t> ids;
  std::int64_t window = 0;  // tokens; the last one may be shorter
  std::int64_t vocab = 0;

  std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()); }
};

// But for its header.
Bytes ReferenceBytes(const WindowedText& text);

class ReferenceWriter {
 public:
  static Result<ReferenceWriter> Create(const std::string& path, const WindowedText& text);
  // The next rows [rows, vocab].
  Status Add(std::span<const float> log_probs);
  // After the last one.
  Status Finish() { return writer_.Finish(); }

 private:
  explicit ReferenceWriter(SafetensorsWriter writer) : writer_(std::move(writer)) {}

  SafetensorsWriter writer_;
  Bytes written_ = 0;
};

class ReferenceReader {
 public:
  // InvalidArgument, saying what differs, unless it is the same text in the same windows over the
  // same vocabulary.
  static Result<ReferenceReader> Open(const std::string& path, const WindowedText& text);
  // Fills `row` [vocab] with that of token `index`; its pages leave memory.
  void Read(std::int64_t index, std::span<float> row) const;

 private:
  ReferenceReader(MappedFile file, std::span<const std::uint8_t> log_probs)
      : file_(std::move(file)), log_probs_(log_probs) {}

  MappedFile file_;
  std::span<const std::uint8_t> log_probs_;
};

}  // namespace tonnage::cli
