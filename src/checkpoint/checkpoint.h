// One model's weights, wherever they lie: a folder of safetensors files (Hugging Face or MLX), one
// safetensors file, or one GGUF file, which may be any part of a split one. Opening reads names,
// types and shapes only; a weight's bytes stay in the mapped files until somebody reads them. The
// checkpoint owns the mappings, which every WeightInfo borrows. Safe to read from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/gguf.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/shards.h"
#include "checkpoint/weights.h"

namespace tonnage {

class Checkpoint {
 public:
  static Result<Checkpoint> Open(const std::string& path);

  std::span<const WeightInfo> weights() const { return weights_; }  // in the order of their names
  // The weight, or nullptr; it may be one that cannot be used.
  const WeightInfo* Find(std::string_view name) const;
  // The weight, which must be there and usable.
  Result<const WeightInfo*> Require(std::string_view name) const;
  // What all weights take in the files.
  Bytes total_bytes() const { return total_bytes_; }

  // Of a folder, or of a safetensors file's folder: null if there is none.
  const Json& config() const { return config_; }
  const Json& generation_config() const { return generation_config_; }
  // Of a GGUF file: its metadata, or the first part's; otherwise nullptr.
  const Gguf* gguf() const { return gguf_.empty() ? nullptr : &gguf_[0]; }

  // The pages of a weight leave this process's memory; reading it again reads the file again.
  static void Release(const WeightInfo& weight);

 private:
  explicit Checkpoint(std::string path) : path_(std::move(path)) {}
  Status OpenGguf();
  // One of the parts that a split model is kept in, or the only one.
  Status OpenGgufPart(const std::string& path);
  Status OpenFolder();
  Status OpenSafetensors(const std::string& folder, const std::vector<std::string>& names,
                         const ShardIndex& index);
  Status ReadConfigs(const std::string& folder);

  std::string path_;
  std::vector<MappedFile> files_;
  std::vector<Gguf> gguf_;  // the parts in their order
  Json config_;
  Json generation_config_;
  std::vector<WeightInfo> weights_;
  Bytes total_bytes_ = 0;
};

}  // namespace tonnage
