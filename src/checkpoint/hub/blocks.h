// Which blocks of a file have been fetched whole, and the journal that keeps this on disk: a line
// with the file's and the blocks' size, then a line with the number of each block that is done.
// Lines are only ever appended, so whatever moment a process dies at leaves a journal that tells
// the truth: a last line that was cut, or anything else that cannot be, is not believed. One
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tonnage::hub {

class Blocks {
 public:
  Blocks(Bytes file_bytes, Bytes block_bytes);

  // What `journal` tells of a file of this size; nothing is done when it tells of another.
  static Blocks FromJournal(std::string_view journal, Bytes file_bytes, Bytes block_bytes);
  std::string JournalHead() const;
  static std::string JournalLine(std::int64_t block);

  std::int64_t count() const { return static_cast<std::int64_t>(done_.size()); }
  Bytes first(std::int64_t block) const { return block * block_bytes_; }
  Bytes end(std::int64_t block) const;  // of the block, which the next begins with
  bool done(std::int64_t block) const { return done_[static_cast<size_t>(block)]; }
  void MarkDone(std::int64_t block) { done_[static_cast<size_t>(block)] = true; }
  bool all_done() const;
  Bytes done_bytes() const;

 private:
  Bytes file_bytes_;
  Bytes block_bytes_;
  std::vector<bool> done_;
};

}  // namespace tonnage::hub
