// A hub that speaks Hugging Face's API: what a repository holds, and any range of its files' bytes.
// Failures that pass are tried again, a read that was cut goes on where it stopped. Safe from any
// thread, each with a connection of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "checkpoint/hub/http.h"
#include "checkpoint/hub/listing.h"

namespace tonnage::hub {

struct Settings {
  std::string endpoint = "https://huggingface.co";
  std::string token;     // sent to the endpoint's origin and nowhere else; may be empty
  std::string cache;     // the folder of Hugging Face's own client, read only; may not be there
  bool offline = false;  // the cache is all there is
  HttpLimits limits;
};

class Hub {
 public:
  // A range's bytes, in order; false ends the read with Cancelled.
  using Sink = std::function<bool(std::span<const std::uint8_t>)>;

  // `stop`, which outlives the hub, ends a listing that is under way once it is true; a read ends
  // by its client's.
  Hub(Settings settings, const std::atomic<bool>& stop)
      : settings_(std::move(settings)), stop_(stop) {}

  const Settings& settings() const { return settings_; }
  const std::atomic<bool>& stop() const { return stop_; }
  // False once a file's range was asked for and the whole file came.
  bool serves_ranges() const { return serves_ranges_.load(); }

  Result<Listing> List(const std::string& repository, const std::string& revision);

  // Bytes [first, end) of a file, whose path is plain; more or fewer bytes than `file.bytes` in all
  // are an error.
  Status Read(HttpClient& client, const std::string& repository, const std::string& commit,
              const File& file, Bytes first, Bytes end, const Sink& sink);

 private:
  Result<std::string> Endpoint() const;
  // Calls `attempt`, which says what it brought, until it succeeds or retrying makes no sense.
  struct Attempt {
    Status status = {};
    HttpHead head = {};
    Bytes progress = 0;
    bool passing = false;  // another try may go better
  };
  static Status WithRetries(const std::atomic<bool>& stop, const std::function<Attempt()>& attempt);
  Attempt ReadOnce(HttpClient& client, const HttpRequest& request, const File& file, Bytes first,
                   Bytes end, const Sink& sink);

  const Settings settings_;
  const std::atomic<bool>& stop_;
  std::atomic<bool> serves_ranges_{true};
};

}  // namespace tonnage::hub
