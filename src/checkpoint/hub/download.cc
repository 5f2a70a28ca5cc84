#include "checkpoint/hub/download.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "checkpoint/hub/partial_file.h"

namespace tonnage::hub {
namespace {

namespace fs = std::filesystem;

constexpr int kTriesForDigest = 2;

// One file's way in. What the workers share of it is guarded by the download's mutex.
struct Job {
  Job(const File& wanted, PartialFile begun) : file(wanted), partial(std::move(begun)) {}
  const File& file;
  PartialFile partial;
  std::int64_t next = 0;   // the first block that nobody has claimed
  bool finishing = false;  // somebody checks its digest, or has
  int tries = 1;
};

// What a worker is to do: fetch consecutive blocks of a file or, when there are none, finish it.
struct Piece {
  Job* job;
  std::int64_t first, end;
};

class Download {
 public:
  Download(Hub& hub, std::string repository, std::string commit)
      : hub_(hub), repository_(std::move(repository)), commit_(std::move(commit)) {}

  Status Add(const File& file, const fs::path& folder) {
    total_ += file.bytes;
    ASSIGN_OR_RETURN(PartialFile partial, PartialFile::Open(folder, file));
    done_ += partial.blocks().done_bytes();
    jobs_.emplace_back(file, std::move(partial));
    return {};
  }

  Status Run(const DownloadOptions& options) {
    std::vector<std::thread> workers;
    int working = options.connections;
    for (int i = 0; i < options.connections; ++i) {
      workers.emplace_back([&] {
        Work();
        const std::lock_guard lock(mutex_);
        --working;
        changed_.notify_all();
      });
    }
    const auto finished = [&] {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return working == 0; });
    };
    while (!finished()) {
      if (hub_.stop().load()) Fail(Cancelled("interrupted"));
      if (options.progress) options.progress(std::min(done_.load(), total_), total_);
    }
    for (std::thread& worker : workers) worker.join();
    if (error_) return *error_;
    return {};
  }

 private:
  void Work() {
    HttpClient client(hub_.settings().limits, failed_);
    while (const auto piece = Claim()) {
      const Status status = piece->first < piece->end ? Fetch(client, *piece) : Finish(*piece->job);
      if (!status.ok()) Fail(status.error());
    }
  }

  // A hub without ranges sends every file whole, so one worker takes all of what is missing. A file
  // that is all there is checked by one worker while the others go on with the next.
  std::optional<Piece> Claim() {
    const std::lock_guard lock(mutex_);
    if (error_) return std::nullopt;
    for (Job& job : jobs_) {
      const Blocks& blocks = job.partial.blocks();
      while (job.next < blocks.count() && blocks.done(job.next)) ++job.next;
      if (job.next < blocks.count()) {
        const std::int64_t first = job.next;
        job.next = hub_.serves_ranges() ? first + 1 : blocks.count();
        return Piece{&job, first, job.next};
      }
      if (!job.finishing && blocks.all_done()) {
        job.finishing = true;
        return Piece{&job, 0, 0};
      }
    }
    return std::nullopt;
  }

  Status Fetch(HttpClient& client, const Piece& piece) {
    PartialFile& partial = piece.job->partial;
    const Blocks& blocks = partial.blocks();
    Bytes position = blocks.first(piece.first);
    std::int64_t block = piece.first;
    Status written;
    const Hub::Sink sink = [&](std::span<const std::uint8_t> data) {
      written = partial.Write(position, data);
      position += static_cast<Bytes>(data.size());
      done_ += static_cast<Bytes>(data.size());
      for (; written.ok() && block < piece.end && blocks.end(block) <= position; ++block) {
        const std::lock_guard lock(mutex_);
        written = partial.MarkDone(block);
      }
      return written.ok();
    };
    const Status read = hub_.Read(client, repository_, commit_, piece.job->file, position,
                                  blocks.end(piece.end - 1), sink);
    return written.ok() ? read : written;
  }

  Status Finish(Job& job) {
    ASSIGN_OR_RETURN(const bool right, job.partial.Finish());
    if (right) return {};
    if (job.tries++ == kTriesForDigest) {
      return Unreadable(
          "{}/{}: what was sent does not have the digest that the hub lists, in {} tries; it was "
          "removed",
          repository_, job.file.path, kTriesForDigest);
    }
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(job.partial.Begin());
    done_ -= job.file.bytes;
    job.next = 0;
    job.finishing = false;
    return {};
  }

  void Fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_.store(true);
  }

  Hub& hub_;
  const std::string repository_, commit_;
  Bytes total_ = 0;
  std::atomic<Bytes> done_{0};
  std::atomic<bool> failed_{false};
  std::condition_variable changed_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<Job> jobs_;
  std::optional<Error> error_;
};

// The files that are not there, each content once.
std::vector<const File*> Missing(std::span<const File> files, const fs::path& folder) {
  std::vector<const File*> missing;
  std::set<std::string_view> seen;
  std::error_code error;
  for (const File& file : files) {
    if (fs::exists(folder / file.digest.hex, error) || !seen.insert(file.digest.hex).second)
      continue;
    missing.push_back(&file);
  }
  return missing;
}

}  // namespace

Status DownloadFiles(Hub& hub, const std::string& repository, const std::string& commit,
                     std::span<const File> files, const fs::path& folder,
                     const DownloadOptions& options) {
  Download download(hub, repository, commit);
  for (const File* file : Missing(files, folder)) RETURN_IF_ERROR(download.Add(*file, folder));
  return download.Run(options);
}

Bytes MissingBytes(std::span<const File> files, const fs::path& folder) {
  Bytes sum = 0;
  for (const File* file : Missing(files, folder))
    sum += file->bytes - PartialFile::Done(folder, *file).done_bytes();
  return sum;
}

}  // namespace tonnage::hub
