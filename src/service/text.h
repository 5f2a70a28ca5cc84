// The text side of a model: its tokenizer, the sources of its chat templates, and the tokens that
// its files name. From a model folder (tokenizer.json, tokenizer.jsonl, tokenizer.model or a
// tiktoken file, with the configs beside it), from one of these files, or from a GGUF file,
// vocabulary-only ones too. Weights are never read. What is returned owns everything and is safe to
// read from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "checkpoint/gguf.h"
#include "tokenizer/gguf_vocab.h"
#include "tokenizer/tokenizer.h"

namespace tonnage {

struct ModelText {
  std::unique_ptr<Tokenizer> tokenizer;
  // Name and source; "default" is the one that is meant where none is named.
  std::vector<std::pair<std::string, std::string>> chat_templates;
  // What a template knows as bos_token and so on; empty where the files name none.
  std::string bos_token, eos_token, unk_token, pad_token;
  std::vector<TokenId> end_ids;  // each ends an answer; ascending

  // The source of the template of that name, or nullptr.
  const std::string* ChatTemplate(std::string_view name = "default") const;
};

Result<ModelText> OpenModelText(const std::string& path);

// The vocabulary in a GGUF file's metadata.
Result<GgufVocab> ReadGgufVocab(const Gguf& gguf);

}  // namespace tonnage
