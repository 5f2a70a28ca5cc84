// Which files of a repository make the model that a user asked for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/hub/listing.h"
#include "checkpoint/hub/name.h"

namespace tonnage::hub {

// The files to fetch, all with plain paths and at most one file of each base name among GGUF ones:
// every part of the GGUF file that `name.file` picks by its path, its name, or the quantization
// that its name ends with; without one, a safetensors checkpoint with its configuration, tokenizer
// and chat templates, or else the repository's only GGUF file. InvalidArgument, with the choices
// and their sizes, when that does not pick exactly one.
Result<std::vector<File>> SelectFiles(const Listing& listing, const ModelName& name);

// Where a selected file lies in the model's folder: as in the repository, but for a GGUF file,
// which stands for itself wherever the repository keeps it.
std::string LocalPath(const File& file);

}  // namespace tonnage::hub
