#include "checkpoint/store.h"

#include <algorithm>

#include "checkpoint/quoted.h"

namespace tonnage {

namespace fs = std::filesystem;

namespace {

// One folder of a name: it may not climb, hide, or write to somebody's terminal.
bool IsPlainWord(std::string_view word) {
  return !word.empty() && word.front() != '.' &&
         std::all_of(word.begin(), word.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("-_.:@+=").find(c) != std::string_view::npos;
         });
}

Status CheckName(std::string_view name) {
  const size_t slash = name.find('/');
  const bool plain = slash == std::string_view::npos ? IsPlainWord(name)
                                                     : IsPlainWord(name.substr(0, slash)) &&
                                                           IsPlainWord(name.substr(slash + 1));
  if (plain) return {};
  return InvalidArgument(
      "{} is not a model name: use letters, digits, '-', '_', '.' and ':', with one '/' at "
      "most",
      Quoted(name));
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

// What tells a model's folder from an owner's, which holds nothing but the folders of models.
bool HoldsFiles(const fs::path& folder) {
  std::error_code ignored;
  const fs::directory_iterator entries(folder, ignored);
  return std::any_of(begin(entries), end(entries), [&](const fs::directory_entry& entry) {
    return !entry.is_directory(ignored);
  });
}

Result<std::vector<fs::path>> FoldersIn(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->is_directory(error)) folders.push_back(entry->path());
  }
  if (error) return Failed(folder, error);
  return folders;
}

// Removes a name's folder, and its owner's with the last of them; whether there was one.
Result<bool> RemoveTree(const fs::path& root, std::string_view name) {
  std::error_code error;
  const fs::path folder = root / name;
  if (!HoldsFiles(folder)) return false;
  fs::remove_all(folder, error);
  if (error) return Failed(folder, error);
  if (folder.parent_path() != root) fs::remove(folder.parent_path(), error);  // if it is empty
  return true;
}

}  // namespace

Result<fs::path> ModelStore::Resolve(std::string_view model) const {
  std::error_code ignored;
  if (fs::exists(fs::path(model), ignored)) return fs::path(model);
  const bool slash = model.find('/') != std::string_view::npos;
  const bool file = model.ends_with(".gguf") && model.find(':') == std::string_view::npos;
  if (file || (slash && !CheckName(model).ok()))
    return Unreadable("{}: no such file or folder", model);
  return Find(model);
}

Result<fs::path> ModelStore::Find(std::string_view name) const {
  RETURN_IF_ERROR(CheckName(name));
  const fs::path folder = root_ / "models" / name;
  if (HoldsFiles(folder)) return Openable(folder);
  return Unreadable(
      "no model `{}` in {}: `tonnage list` shows what is there, `tonnage pull {}` fetches one that "
      "can be",
      name, (root_ / "models").string(), name);
}

Result<std::vector<StoredModel>> ModelStore::List() const {
  std::vector<StoredModel> models;
  std::error_code error;
  const fs::path root = root_ / "models";
  if (!fs::exists(root, error)) return models;
  const auto add = [&](const fs::path& folder) {
    models.push_back(
        {folder.lexically_relative(root).generic_string(), Openable(folder), FolderBytes(folder)});
  };
  ASSIGN_OR_RETURN(const std::vector<fs::path> folders, FoldersIn(root));
  for (const fs::path& folder : folders) {
    if (HoldsFiles(folder)) {
      add(folder);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<fs::path> owned, FoldersIn(folder));
    std::for_each(owned.begin(), owned.end(), add);
  }
  std::sort(models.begin(), models.end(),
            [](const StoredModel& a, const StoredModel& b) { return a.name < b.name; });
  return models;
}

Status ModelStore::Remove(std::string_view name) {
  RETURN_IF_ERROR(CheckName(name));
  ASSIGN_OR_RETURN(const bool model, RemoveTree(root_ / "models", name));
  ASSIGN_OR_RETURN(const bool download, RemoveTree(root_ / "downloads", name));
  if (model || download) return {};
  return Unreadable("no model `{}` in {}: `tonnage list` shows what is there", name,
                    (root_ / "models").string());
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
  if (from.parent_path() != root_ / "partial") fs::remove(from.parent_path(), error);
  RETURN_IF_ERROR(RemoveTree(root_ / "downloads", name));
  return {};
}

Result<fs::path> ModelStore::DownloadFolder(std::string_view name) {
  RETURN_IF_ERROR(CheckName(name));
  std::error_code error;
  const fs::path folder = root_ / "downloads" / name;
  fs::create_directories(folder, error);
  if (error) return Failed(folder, error);
  return folder;
}

Status ModelStore::CheckSpace(Bytes needed) {
  std::error_code error;
  fs::create_directories(root_, error);
  const fs::space_info space = fs::space(root_, error);
  if (error || static_cast<Bytes>(space.available) >= needed) return {};  // unknown is no refusal
  return Refused("{}: {} of disk needed for the download, {} free", root_.string(),
                 FormatBytes(needed), FormatBytes(static_cast<Bytes>(space.available)));
}

}  // namespace tonnage
