// The parts of OpenModelText: a tokenizer out of each kind of file, and what the configs beside it
// say.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "service/text.h"
#include "tokenizer/tokenizer.h"

namespace tonnage {

// A whole file; it must be a regular file of at most a gigabyte.
Result<std::string> ReadTextFile(const std::filesystem::path& path);

// The configs of a model folder, null where there is none.
struct TextConfigs {
  Json tokenizer;   // tokenizer_config.json
  Json generation;  // generation_config.json
  Json model;       // config.json
};

// `name` is the file's own, which for tiktoken may tell the encoding.
Result<std::unique_ptr<Tokenizer>> TokenizerFromSentencePiece(std::string_view bytes,
                                                              const Json& tokenizer_config);
Result<std::unique_ptr<Tokenizer>> TokenizerFromTiktoken(std::string_view bytes,
                                                         std::string_view name,
                                                         const Json& tokenizer_config);
Result<std::unique_ptr<Tokenizer>> TokenizerFromPlamo(std::string_view bytes,
                                                      const Json& tokenizer_config);

}  // namespace tonnage
