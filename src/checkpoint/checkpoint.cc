#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "checkpoint/quantization_config.h"
#include "checkpoint/quoted.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/shards.h"
#include "checkpoint/split_gguf.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kLargestConfigBytes = 16 * kMiB;
constexpr std::string_view kIndexName = "model.safetensors.index.json";

std::string Join(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// A JSON object in a file; null if there is no such file.
Result<Json> ReadJsonFile(const std::string& path) {
  if (!Exists(path)) return Json();
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const auto bytes = file.bytes();
  if (static_cast<Bytes>(bytes.size()) > kLargestConfigBytes) {
    return Unreadable("{}: {}, more than the {} that a configuration may take", path,
                      FormatBytes(static_cast<Bytes>(bytes.size())),
                      FormatBytes(kLargestConfigBytes));
  }
  Result<Json> json = ParseJson({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!json.ok()) return json.error().In(path);
  if (!json->is_object())
    return Unreadable("{}: must be an object, not {}", path, json->type_name());
  return json;
}

// Each tensor with the name of the file that holds it, in the order of the tensors' names.
struct Located {
  SafetensorsTensor tensor;
  const std::string* file;
};

Status CheckUnique(std::span<const Located> tensors) {
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].tensor.name == tensors[i - 1].tensor.name) {
      return Unreadable("tensor {} is in both {} and {}", Quoted(tensors[i].tensor.name),
                        Quoted(*tensors[i - 1].file), Quoted(*tensors[i].file));
    }
  }
  return {};
}

Status CheckIndex(const ShardIndex& index, std::span<const Located> tensors) {
  for (const auto& [name, file] : index) {
    const auto it =
        std::lower_bound(tensors.begin(), tensors.end(), name,
                         [](const Located& t, const std::string& n) { return t.tensor.name < n; });
    if (it == tensors.end() || it->tensor.name != name) {
      return Unreadable("tensor {} is missing from {}, where {} says it is", Quoted(name),
                        Quoted(file), kIndexName);
    }
    if (*it->file != file) {
      return Unreadable("tensor {} is in {}, but {} says that it is in {}", Quoted(name),
                        Quoted(*it->file), kIndexName, Quoted(file));
    }
  }
  return {};
}

// The folder's index, or an empty one; every file that it names must be there.
Result<ShardIndex> ReadIndex(const std::string& folder) {
  const std::string path = Join(folder, kIndexName);
  if (!Exists(path)) return ShardIndex();
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  Result<ShardIndex> index =
      ParseShardIndex({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  if (!index.ok()) return index.error().In(path);
  for (const auto& [tensor, name] : *index) {
    if (!Exists(Join(folder, name))) {
      return Unreadable("{}: the file {} is missing; tensor {} should be in it", folder,
                        Quoted(name), Quoted(tensor));
    }
  }
  return index;
}

}  // namespace

Result<Checkpoint> Checkpoint::Open(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Unreadable("{}: no such file or folder", path);
  Checkpoint checkpoint(path);
  if (fs::is_directory(status)) {
    RETURN_IF_ERROR(checkpoint.OpenFolder());
  } else if (path.ends_with(".safetensors")) {
    const fs::path file(path);
    const std::string folder = file.parent_path().string();
    RETURN_IF_ERROR(checkpoint.ReadConfigs(folder));
    RETURN_IF_ERROR(checkpoint.OpenSafetensors(folder, {file.filename().string()}, {}));
  } else {
    RETURN_IF_ERROR(checkpoint.OpenGguf());
  }
  for (const WeightInfo& weight : checkpoint.weights_) checkpoint.total_bytes_ += weight.bytes();
  return checkpoint;
}

Status Checkpoint::OpenGgufPart(const std::string& path) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  Result<Gguf> gguf = Gguf::Parse(file.bytes());
  if (!gguf.ok()) return gguf.error().In(path);
  gguf_.push_back(*std::move(gguf));
  files_.push_back(std::move(file));
  return {};
}

Status Checkpoint::OpenGguf() {
  RETURN_IF_ERROR(OpenGgufPart(path_));
  Result<std::optional<SplitPart>> part = SplitPartOf(gguf_[0]);
  if (!part.ok()) return part.error().In(path_);
  if (*part) {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths, SplitPaths(path_, **part));
    gguf_.clear();
    files_.clear();
    for (const std::string& path : paths) RETURN_IF_ERROR(OpenGgufPart(path));
    RETURN_IF_ERROR(CheckSplit(gguf_, paths));
  }
  weights_ = WeightsFromGguf(gguf_);
  return {};
}

Status Checkpoint::OpenFolder() {
  RETURN_IF_ERROR(ReadConfigs(path_));
  if (config_.is_null()) return Unreadable("{}: config.json is missing", path_);
  ASSIGN_OR_RETURN(const ShardIndex index, ReadIndex(path_));
  Result<std::vector<std::string>> names = ListShards(path_);
  if (!names.ok()) return names.error().In(path_);
  return OpenSafetensors(path_, *names, index);
}

Status Checkpoint::ReadConfigs(const std::string& folder) {
  ASSIGN_OR_RETURN(config_, ReadJsonFile(Join(folder, "config.json")));
  ASSIGN_OR_RETURN(generation_config_, ReadJsonFile(Join(folder, "generation_config.json")));
  return {};
}

Status Checkpoint::OpenSafetensors(const std::string& folder, const std::vector<std::string>& names,
                                   const ShardIndex& index) {
  Result<QuantizationConfig> quantization = QuantizationConfig::Parse(config_);
  if (!quantization.ok()) return quantization.error().In(Join(folder, "config.json"));
  std::vector<Located> located;
  for (const std::string& name : names) {
    const std::string path = Join(folder, name);
    ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
    Result<Safetensors> parsed = ParseSafetensors(file.bytes());
    if (!parsed.ok()) return parsed.error().In(path);
    for (SafetensorsTensor& tensor : parsed->tensors) located.push_back({std::move(tensor), &name});
    files_.push_back(std::move(file));
  }
  std::sort(located.begin(), located.end(),
            [](const Located& a, const Located& b) { return a.tensor.name < b.tensor.name; });
  for (const Status& status : {CheckUnique(located), CheckIndex(index, located)}) {
    if (!status.ok()) return status.error().In(path_);
  }
  std::vector<SafetensorsTensor> tensors;
  tensors.reserve(located.size());
  for (Located& item : located) tensors.push_back(std::move(item.tensor));
  Result<std::vector<WeightInfo>> weights = WeightsFromSafetensors(tensors, *quantization);
  if (!weights.ok()) return weights.error().In(path_);
  weights_ = *std::move(weights);
  return {};
}

const WeightInfo* Checkpoint::Find(std::string_view name) const {
  const auto it = std::lower_bound(
      weights_.begin(), weights_.end(), name,
      [](const WeightInfo& weight, std::string_view n) { return weight.name < n; });
  return it == weights_.end() || it->name != name ? nullptr : &*it;
}

Result<const WeightInfo*> Checkpoint::Require(std::string_view name) const {
  const WeightInfo* weight = Find(name);
  if (weight == nullptr) return Unreadable("{}: tensor {} is missing", path_, Quoted(name));
  if (!weight->unsupported.empty()) return Unsupported("{}: {}", path_, weight->unsupported);
  return weight;
}

void Checkpoint::Release(const WeightInfo& weight) {
  for (const auto& part : {weight.data, weight.scales, weight.biases}) ReleasePages(part);
}

}  // namespace tonnage
