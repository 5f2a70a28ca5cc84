#include "checkpoint/hub/listing.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "checkpoint/quoted.h"

namespace tonnage::hub {
namespace {

constexpr Bytes kLargestFileBytes = Bytes{1} << 44;  // far beyond any, and sums stay in range
constexpr size_t kMostFiles = 100'000;
constexpr size_t kValuesPerFile = 32;  // a row has ten or so, and what describes the model is less

Result<File> ParseFile(const Json& row) {
  File file;
  ASSIGN_OR_RETURN(file.path, JsonString(row, "rfilename", ""));
  if (file.path.empty()) return Unreadable("a file without a name");
  const auto parse = [&]() -> Status {
    ASSIGN_OR_RETURN(file.bytes, JsonRequiredInt(row, "size"));
    ASSIGN_OR_RETURN(file.digest.hex, JsonString(row, "blobId", ""));
    file.digest.kind = Digest::Kind::kGitSha1;
    if (const Json* lfs = JsonFind(row, "lfs")) {
      ASSIGN_OR_RETURN(file.digest.hex, JsonString(*lfs, "sha256", ""));
      file.digest.kind = Digest::Kind::kSha256;
    }
    if (file.bytes < 0 || file.bytes > kLargestFileBytes)
      return Unreadable("a size of {} bytes", file.bytes);
    const size_t digits = file.digest.kind == Digest::Kind::kSha256 ? 64 : 40;
    if (!IsHex(file.digest.hex, digits)) return Unreadable("no digest of its content");
    return {};
  };
  const Status status = parse();
  if (!status.ok()) return status.error().In(Quoted(file.path));
  return file;
}

}  // namespace

bool IsHex(std::string_view text, size_t count) {
  return text.size() == count && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<Listing> ParseListing(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(text, {.values = kMostFiles * kValuesPerFile}));
  Listing listing;
  ASSIGN_OR_RETURN(listing.commit, JsonString(json, "sha", ""));
  const Json* siblings = JsonFind(json, "siblings");
  if (!IsHex(listing.commit, 40) || siblings == nullptr || !siblings->is_array())
    return Unreadable("no commit, or no list of files");
  if (siblings->size() > kMostFiles) return Unreadable("lists {} files", siblings->size());
  for (const Json& row : *siblings) {
    ASSIGN_OR_RETURN(File file, ParseFile(row));
    listing.files.push_back(std::move(file));
  }
  std::sort(listing.files.begin(), listing.files.end(),
            [](const File& a, const File& b) { return a.path < b.path; });
  const auto twice =
      std::adjacent_find(listing.files.begin(), listing.files.end(),
                         [](const File& a, const File& b) { return a.path == b.path; });
  if (twice != listing.files.end()) return Unreadable("lists {} twice", Quoted(twice->path));
  return listing;
}

}  // namespace tonnage::hub
