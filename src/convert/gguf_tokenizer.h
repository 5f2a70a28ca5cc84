// A GGUF file's vocabulary as the tokenizer files of a folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/gguf.h"

namespace tonnage {

struct TokenizerFiles {
  std::vector<std::pair<std::string, Json>> files;  // names and contents
  std::string note;  // what the user should know where there is no tokenizer.json
};

// tokenizer.json and tokenizer_config.json of a byte-level BPE vocabulary; of other kinds a note.
Result<TokenizerFiles> TokenizerFilesFromGguf(const Gguf& gguf);

}  // namespace tonnage
