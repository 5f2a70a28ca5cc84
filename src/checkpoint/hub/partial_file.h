// A file on its way in, named by its digest within a folder: `<digest>.part` has its bytes as far
// as they came, `<digest>.blocks` says which of them count, and only content that has that digest
// ever gets the name `<digest>`. Write() is safe from any thread; the rest wants one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/hub/blocks.h"
#include "checkpoint/hub/listing.h"

namespace tonnage::hub {

class PartialFile {
 public:
  static constexpr Bytes kBlockBytes = 8 * kMiB;

  // What of `file` lies in `folder` already; changes nothing.
  static Blocks Done(const std::filesystem::path& folder, const File& file);
  // Continues that, or begins.
  static Result<PartialFile> Open(const std::filesystem::path& folder, const File& file);
  PartialFile(PartialFile&& other) noexcept;
  ~PartialFile();

  // What was done before, and what is.
  const Blocks& blocks() const { return blocks_; }

  Status Write(Bytes offset, std::span<const std::uint8_t> data);
  // The block's bytes were all written.
  Status MarkDone(std::int64_t block);
  // Once every block is done: gives the file its name when its digest is right. Otherwise throws
  // all of it away, and Begin() makes it anew.
  Result<bool> Finish();
  Status Begin();

 private:
  PartialFile(std::filesystem::path path, File file, Blocks blocks)
      : path_(std::move(path)), file_(std::move(file)), blocks_(std::move(blocks)) {}
  std::filesystem::path With(const char* suffix) const;
  Status OpenFiles(bool fresh);
  void Close();

  std::filesystem::path path_;
  File file_;
  Blocks blocks_;
  int data_ = -1;
  int journal_ = -1;
};

}  // namespace tonnage::hub
