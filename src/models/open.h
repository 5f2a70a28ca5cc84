// Opens a model wherever it lies: a folder, a .safetensors file beside its config.json, or a GGUF
// file. Reads names and shapes only. Movable; the sources borrow the checkpoint that moves along.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "models/model.h"
#include "models/weight_source.h"

namespace tonnage {

struct OpenedModel {
  Checkpoint checkpoint;
  Json config;  // in Hugging Face's terms
  Model model;
  std::vector<WeightSource> sources;  // by WeightId

  // The storage format of every weight, by WeightId.
  std::vector<Format> Formats() const;
};

Result<OpenedModel> OpenModel(const std::string& path);

}  // namespace tonnage
