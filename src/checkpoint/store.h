// The model store: a folder with one folder a model, <root>/models/<name>/, holding a GGUF file or
// a Hugging Face-style checkpoint. A name is one word, or an owner and a word: `smollm2`,
// `Qwen/Qwen3-4B`. A model appears there in one rename once it is whole; until then it lies under
// <root>/partial/, and what a download has fetched so far under <root>/downloads/<name>/. Functions
// are safe from any thread and any process, since every change is one rename or one removal.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tonnage {

struct StoredModel {
  std::string name;
  std::filesystem::path path;  // what to open: the .gguf, or the folder
  Bytes bytes = 0;             // all its files
};

class ModelStore {
 public:
  explicit ModelStore(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }

  // `model` as a user names it: an existing path is itself, else a name in the store. Unreadable,
  // with what to do, when it is neither.
  Result<std::filesystem::path> Resolve(std::string_view model) const;

  // The model of that name in the store.
  Result<std::filesystem::path> Find(std::string_view name) const;

  // By name.
  Result<std::vector<StoredModel>> List() const;
  Status Remove(std::string_view name);

  // A fresh folder for a model on its way in, and the rename that makes it appear, replacing an
  // older one and clearing its download folder.
  Result<std::filesystem::path> BeginAdd(std::string_view name);
  Status FinishAdd(std::string_view name);

  // Where a download of `name` keeps what it has fetched, for as long as it takes; Remove() clears
  // that too.
  Result<std::filesystem::path> DownloadFolder(std::string_view name);
  // Refused, with both numbers, unless the store's disk has `needed` bytes free.
  Status CheckSpace(Bytes needed);

 private:
  std::filesystem::path root_;
};

}  // namespace tonnage
