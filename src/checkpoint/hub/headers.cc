#include "checkpoint/hub/headers.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "checkpoint/gguf.h"
#include "checkpoint/hub/select.h"

namespace tonnage::hub {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kFirstSafetensorsBytes = 64 * kKiB;
constexpr Bytes kFirstGgufBytes = kMiB;
constexpr Bytes kLongestHeaderBytes = 256 * kMiB;
constexpr size_t kThreads = 8;

Error TooLong(const File& file) {
  return Unreadable("{}: a header of more than {}", file.path, FormatBytes(kLongestHeaderBytes));
}

// Eight bytes tell the length of the rest.
Result<std::string> SafetensorsHead(const Repository& repository, HttpClient& client,
                                    const File& file) {
  const Bytes guess = std::min(file.bytes, kFirstSafetensorsBytes);
  ASSIGN_OR_RETURN(std::string head, repository.Read(client, file, 0, guess));
  std::uint64_t length = 0;
  if (head.size() < sizeof(length)) return head;
  std::memcpy(&length, head.data(), sizeof(length));
  if (length > static_cast<std::uint64_t>(kLongestHeaderBytes)) return TooLong(file);
  const Bytes end = std::min(file.bytes, static_cast<Bytes>(length + sizeof(length)));
  if (end <= guess) return head;
  ASSIGN_OR_RETURN(const std::string rest, repository.Read(client, file, guess, end));
  return head + rest;
}

// Nothing tells a GGUF header's length but reading it, so ranges grow until it is all there.
Result<std::string> GgufHead(const Repository& repository, HttpClient& client, const File& file) {
  std::string head;
  for (Bytes end = std::min(file.bytes, kFirstGgufBytes);; end = std::min(file.bytes, 2 * end)) {
    ASSIGN_OR_RETURN(const std::string more,
                     repository.Read(client, file, static_cast<Bytes>(head.size()), end));
    head += more;
    const auto bytes =
        Gguf::HeaderBytes({reinterpret_cast<const std::uint8_t*>(head.data()), head.size()});
    const bool may_continue =
        !bytes.ok() && bytes.error().code() == Code::kUnreadable && head.starts_with("GGUF");
    if (!may_continue || end == file.bytes) return head;
    if (end >= kLongestHeaderBytes) return TooLong(file);
  }
}

// What of a file a quote reads: all, but of weights the header.
Result<std::string> Head(const Repository& repository, HttpClient& client, const File& file) {
  if (file.path.ends_with(".safetensors")) return SafetensorsHead(repository, client, file);
  if (file.path.ends_with(".gguf")) return GgufHead(repository, client, file);
  if (file.bytes > kLongestHeaderBytes) return TooLong(file);
  return repository.Read(client, file, 0, file.bytes);
}

Status WriteWithHole(const fs::path& path, std::string_view head, Bytes bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << head << std::flush;
  if (file) fs::resize_file(path, static_cast<std::uintmax_t>(bytes), error);
  if (!file || error) return Unavailable("{}: cannot be written", path.string());
  return {};
}

Status FetchAll(const Repository& repository, const fs::path& folder) {
  const std::vector<File>& files = repository.files();
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failure;  // guarded by mutex
  std::atomic<bool> failed{false};
  const auto work = [&] {
    HttpClient client(repository.hub().settings().limits, repository.hub().stop());
    for (size_t i = next++; i < files.size() && !failed; i = next++) {
      const auto head = Head(repository, client, files[i]);
      const Status status = head.ok()
                                ? WriteWithHole(folder / LocalPath(files[i]), *head, files[i].bytes)
                                : Status(head.error());
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) failure = status.error();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(kThreads, files.size()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (failure) return *failure;
  return {};
}

}  // namespace

Result<HeaderFolder> HeaderFolder::Fetch(const Repository& repository, const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  std::string pattern = (parent / "headers-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    return Unavailable("{}: {}", parent.string(), std::strerror(errno));
  HeaderFolder headers{fs::path(pattern)};
  RETURN_IF_ERROR(FetchAll(repository, headers.folder_));
  const File& first = repository.files().front();
  headers.model_ =
      first.path.ends_with(".gguf") ? headers.folder_ / LocalPath(first) : headers.folder_;
  return headers;
}

HeaderFolder::HeaderFolder(HeaderFolder&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), model_(std::move(other.model_)) {}

HeaderFolder::~HeaderFolder() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace tonnage::hub
