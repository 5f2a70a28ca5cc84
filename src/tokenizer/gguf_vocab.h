// Tokenizers from the vocabulary that a GGUF file carries in its metadata (`tokenizer.ggml.*`).
// Whoever has read the metadata fills a GgufVocab; this layer knows nothing of files. Kinds: gpt2
// (byte-pair, by the name of its pre-tokenizer), llama (SentencePiece BPE), bert (WordPiece), t5
// (unigram), plamo2, rwkv, gemma4. Others are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace tonnage {

struct GgufVocab {
  std::string model;                // tokenizer.ggml.model
  std::string pre;                  // tokenizer.ggml.pre, may be empty
  std::string model_name;           // general.name, may be empty
  std::string architecture;         // general.architecture, may be empty
  std::vector<std::string> tokens;  // by id
  std::vector<float> scores;        // by id, or empty
  std::vector<std::int32_t>
      types;  // by id: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte; or empty
  std::vector<std::string> merges;  // "left right", in order of rank
  std::string precompiled_charsmap;

  // Absent where the file says nothing; then the kind's own defaults hold. Ids beyond the
  // vocabulary count as absent.
  std::optional<std::int64_t> bos_id, eos_id, eot_id, eom_id, unk_id, sep_id, pad_id, cls_id;
  std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
  std::optional<bool> lowercase, strip_accents;  // of a bert vocabulary
};

Result<std::unique_ptr<Tokenizer>> MakeGgufTokenizer(GgufVocab vocab);

// The ids that end an answer: eos, eot and eom of the file, and the tokens known to do so by their
// text. Ascending.
std::vector<TokenId> GgufEndIds(const GgufVocab& vocab);

}  // namespace tonnage
