#include "cli/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <system_error>

namespace tonnage::cli {

// libedit's state.
class LineEditor::Terminal {
 public:
  explicit Terminal(std::filesystem::path history_file) : history_file_(std::move(history_file)) {
    history_ = history_init();
    HistEvent event;
    history(history_, &event, H_SETSIZE, 1000);
    history(history_, &event, H_SETUNIQUE, 1);
    history(history_, &event, H_LOAD, history_file_.c_str());

    editor_ = el_init("tonnage", stdin, stderr, stderr);
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_PROMPT, &Terminal::Prompt);
    el_set(editor_, EL_HIST, history, history_);
    // ctrl-C comes as a key while a line is edited, so that it can drop the line and not the
    // program.
    el_set(editor_, EL_SETTY, "-d", "-isig", nullptr);
    el_set(editor_, EL_ADDFN, "drop-line", "drop what was typed", &Terminal::DropLine);
    el_set(editor_, EL_BIND, "^C", "drop-line", nullptr);
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  }

  ~Terminal() {
    el_end(editor_);
    history_end(history_);
  }

  std::optional<std::string> ReadLine(const std::string& prompt) {
    prompt_ = prompt;
    int count = 0;
    const char* line = el_gets(editor_, &count);
    if (line == nullptr || count <= 0) return std::nullopt;
    std::string text(line, static_cast<size_t>(count));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (!text.empty()) Remember(text);
    return text;
  }

 private:
  static char* Prompt(EditLine* editor) { return Self(editor)->prompt_.data(); }

  static unsigned char DropLine(EditLine* editor, int) {
    std::fputs("^C\n", stderr);
    el_set(editor, EL_REFRESH);
    const LineInfo* line = el_line(editor);
    el_cursor(editor, static_cast<int>(line->lastchar - line->cursor));
    el_deletestr(editor, static_cast<int>(line->lastchar - line->buffer));
    return CC_REDISPLAY;
  }

  static Terminal* Self(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return static_cast<Terminal*>(self);
  }

  void Remember(const std::string& text) {
    HistEvent event;
    history(history_, &event, H_ENTER, text.c_str());
    std::error_code ignored;
    std::filesystem::create_directories(history_file_.parent_path(), ignored);
    history(history_, &event, H_SAVE, history_file_.c_str());
  }

  std::filesystem::path history_file_;
  std::string prompt_;
  EditLine* editor_ = nullptr;
  History* history_ = nullptr;
};

LineEditor::LineEditor(std::filesystem::path history_file) {
  if (isatty(STDIN_FILENO) == 1) terminal_ = std::make_unique<Terminal>(std::move(history_file));
}

LineEditor::~LineEditor() = default;

std::optional<std::string> LineEditor::ReadLine(const std::string& prompt) {
  if (terminal_ != nullptr) return terminal_->ReadLine(prompt);
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

}  // namespace tonnage::cli
