#include "checkpoint/hub/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tonnage::hub {

Blocks::Blocks(Bytes file_bytes, Bytes block_bytes)
    : file_bytes_(file_bytes),
      block_bytes_(block_bytes),
      done_(static_cast<size_t>(CeilDiv(file_bytes, block_bytes)), false) {}

Blocks Blocks::FromJournal(std::string_view journal, Bytes file_bytes, Bytes block_bytes) {
  Blocks blocks(file_bytes, block_bytes);
  const std::string head = blocks.JournalHead();
  if (!journal.starts_with(head)) return blocks;
  journal.remove_prefix(head.size());
  for (size_t end = journal.find('\n'); end != std::string_view::npos; end = journal.find('\n')) {
    std::int64_t block = 0;
    const auto [stop, error] = std::from_chars(journal.data(), journal.data() + end, block);
    const bool whole = error == std::errc() && stop == journal.data() + end;
    if (!whole || block < 0 || block >= blocks.count()) break;
    blocks.MarkDone(block);
    journal.remove_prefix(end + 1);
  }
  return blocks;
}

std::string Blocks::JournalHead() const {
  return fmt::format("file of {} bytes in blocks of {}\n", file_bytes_, block_bytes_);
}

std::string Blocks::JournalLine(std::int64_t block) { return fmt::format("{}\n", block); }

Bytes Blocks::end(std::int64_t block) const {
  return std::min(file_bytes_, (block + 1) * block_bytes_);
}

bool Blocks::all_done() const {
  return std::find(done_.begin(), done_.end(), false) == done_.end();
}

Bytes Blocks::done_bytes() const {
  Bytes sum = 0;
  for (std::int64_t i = 0; i < count(); ++i) sum += done(i) ? end(i) - first(i) : 0;
  return sum;
}

}  // namespace tonnage::hub
