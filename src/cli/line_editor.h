// Reads lines from a person, with editing and a history that lasts (libedit); from a pipe, plain
// lines. One thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace tonnage::cli {

class LineEditor {
 public:
  // The history is read from and written to `history_file`; without such a file it lasts as long as
  // the editor.
  explicit LineEditor(std::filesystem::path history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line without its end, or nothing at the end of input (ctrl-D). ctrl-C drops what was
  // typed so far.
  std::optional<std::string> ReadLine(const std::string& prompt);

 private:
  class Terminal;
  std::unique_ptr<Terminal> terminal_;  // null when standard input is not a terminal
};

}  // namespace tonnage::cli
