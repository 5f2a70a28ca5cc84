#include "checkpoint/hub/repository.h"

#include <fstream>
#include <utility>

#include "checkpoint/hub/select.h"

namespace tonnage::hub {
namespace {

Result<std::string> ReadFrom(const std::filesystem::path& path, Bytes first, Bytes end) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(static_cast<size_t>(end - first), '\0');
  file.seekg(first);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) return Unreadable("{}: cannot be read", path.string());
  return bytes;
}

}  // namespace

Result<Listing> Repository::List() {
  const Settings& settings = hub_.settings();
  if (settings.offline) {
    offline_ = true;
    return cache_.List(name_.repository, name_.revision);
  }
  Result<Listing> listing = hub_.List(name_.repository, name_.revision);
  if (listing.ok() || listing.error().code() != Code::kUnavailable) return listing;
  Result<Listing> cached = cache_.List(name_.repository, name_.revision);
  if (!cached.ok()) return listing;
  offline_ = true;
  return cached;
}

Result<Repository> Repository::Open(Hub& hub, const ModelName& name) {
  Repository repository(hub, name);
  ASSIGN_OR_RETURN(Listing listing, repository.List());
  ASSIGN_OR_RETURN(repository.files_, SelectFiles(listing, name));
  repository.commit_ = std::move(listing.commit);
  return repository;
}

Bytes Repository::bytes() const {
  Bytes sum = 0;
  for (const File& file : files_) sum += file.bytes;
  return sum;
}

Result<std::string> Repository::Read(HttpClient& client, const File& file, Bytes first,
                                     Bytes end) const {
  if (const auto cached = cache_.Find(name_.repository, commit_, file))
    return ReadFrom(*cached, first, end);
  if (offline_) return Unavailable("{}: not in the cache, and the hub is not asked", file.path);
  std::string bytes;
  RETURN_IF_ERROR(hub_.Read(client, name_.repository, commit_, file, first, end,
                            [&](std::span<const std::uint8_t> piece) {
                              bytes.append(piece.begin(), piece.end());
                              return true;
                            }));
  return bytes;
}

}  // namespace tonnage::hub
