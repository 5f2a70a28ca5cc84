#include "checkpoint/store.h"

#include <algorithm>

namespace tonnage {

namespace fs = std::filesystem;

namespace {

// Names become folders, so they may not climb out of the store.
Status CheckName(std::string_view name) {
  const bool plain = !name.empty() && name.front() != '.' &&
                     std::all_of(name.begin(), name.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == ':';
                     });
  if (!plain) {
    return InvalidArgument("`{}` is not a model name: use letters, digits, '-', '_', '.' and ':'",
                           name);
  }
  return {};
}

// What a model folder offers to open: itself when it has a config.json, else its first GGUF file.
fs::path Openable(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / "config.json", ignored)) return folder;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".gguf") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files.empty() ? folder : files.front();
}

Bytes FolderBytes(const fs::path& folder) {
  std::error_code ignored;
  Bytes total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (entry.is_regular_file(ignored)) total += static_cast<Bytes>(entry.file_size(ignored));
  }
  return total;
}

Error Failed(const fs::path& path, const std::error_code& error) {
  return Unreadable("{}: {}", path.string(), error.message());
}

}  // namespace

Result<fs::path> ModelStore::Resolve(std::string_view model) const {
  std::error_code ignored;
  if (fs::exists(fs::path(model), ignored)) return fs::path(model);
  const bool looks_like_path =
      model.find('/') != std::string_view::npos || model.ends_with(".gguf");
  if (looks_like_path) return Unreadable("{}: no such file or folder", model);
  RETURN_IF_ERROR(CheckName(model));
  const fs::path folder = root_ / "models" / model;
  if (!fs::is_directory(folder, ignored)) {
    return Unreadable(
        "no model `{}` in {}: `tonnage list` shows what is there, `tonnage pull {}` fetches one "
        "that can be",
        model, (root_ / "models").string(), model);
  }
  return Openable(folder);
}

Result<std::vector<StoredModel>> ModelStore::List() const {
  std::vector<StoredModel> models;
  std::error_code error;
  const fs::path folder = root_ / "models";
  if (!fs::exists(folder, error)) return models;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory(error)) continue;
    models.push_back(
        {entry.path().filename().string(), Openable(entry.path()), FolderBytes(entry.path())});
  }
  if (error) return Failed(folder, error);
  std::sort(models.begin(), models.end(),
            [](const StoredModel& a, const StoredModel& b) { return a.name < b.name; });
  return models;
}

Status ModelStore::Remove(std::string_view name) {
  RETURN_IF_ERROR(CheckName(name));
  std::error_code error;
  const fs::path folder = root_ / "models" / name;
  if (!fs::is_directory(folder, error)) {
    return Unreadable("no model `{}` in {}: `tonnage list` shows what is there", name,
                      (root_ / "models").string());
  }
  fs::remove_all(folder, error);
  if (error) return Failed(folder, error);
  return {};
}

Result<fs::path> ModelStore::BeginAdd(std::string_view name) {
  RETURN_IF_ERROR(CheckName(name));
  std::error_code error;
  const fs::path folder = root_ / "partial" / name;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  if (error) return Failed(folder, error);
  return folder;
}

Status ModelStore::FinishAdd(std::string_view name) {
  RETURN_IF_ERROR(CheckName(name));
  std::error_code error;
  const fs::path from = root_ / "partial" / name;
  const fs::path to = root_ / "models" / name;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::remove_all(to, error);
  if (!error) fs::rename(from, to, error);
  if (error) return Failed(to, error);
  return {};
}

}  // namespace tonnage
