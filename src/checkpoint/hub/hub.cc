#include "checkpoint/hub/hub.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "checkpoint/hub/retry.h"
#include "checkpoint/quoted.h"

namespace tonnage::hub {
namespace {

constexpr size_t kLargestListing = 64 << 20;

std::int64_t SecondsSince1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What a status other than success means to a user. The hub's own words come along where it has
// some.
Error StatusError(const HttpHead& head, bool has_token) {
  const std::string_view words = head.Header("x-error-message");
  const std::string said = words.empty() ? "" : fmt::format(" ({})", Quoted(words));
  switch (head.status) {
    case 401:
      return Unreadable("the hub knows no such model, or not for {}{}",
                        has_token ? "this HF_TOKEN" : "somebody without HF_TOKEN", said);
    case 403:
      return Unreadable(
          "the hub does not give this model to {}: its page tells how to get access{}",
          has_token ? "the owner of this HF_TOKEN" : "somebody without HF_TOKEN", said);
    case 404:
      return Unreadable("the hub knows no such model, revision or file{}", said);
    default:
      return Unavailable("the hub answers with status {}{}", head.status, said);
  }
}

// `bytes 0-99/1234`.
struct ContentRange {
  Bytes first = -1, last = -1, total = -1;
};
std::optional<ContentRange> ParseContentRange(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  ContentRange range;
  for (auto [number, sign] :
       {std::pair(&range.first, '-'), {&range.last, '/'}, {&range.total, '\0'}}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (sign == '\0') break;
    if (!text.starts_with(sign)) return std::nullopt;
    text.remove_prefix(1);
  }
  return range;
}

Error WrongSize(const File& file, std::string_view sent) {
  return Unreadable("{}: the hub lists {} bytes and sends {}", Quoted(file.path), file.bytes, sent);
}

// Where the body of a good answer begins within the file, or why it is not what was asked for.
Result<Bytes> BodyOffset(const HttpHead& head, const File& file, Bytes first) {
  if (head.status == 206) {
    const auto range = ParseContentRange(head.Header("content-range"));
    if (!range || range->first != first)
      return Unavailable("{}: another range came than was asked for", Quoted(file.path));
    if (range->total != file.bytes) return WrongSize(file, std::to_string(range->total));
    return first;
  }
  const std::string_view length = head.Header("content-length");
  if (!length.empty() && length != std::to_string(file.bytes)) return WrongSize(file, length);
  return Bytes{0};
}

}  // namespace

Status Hub::WithRetries(const std::atomic<bool>& stop, const std::function<Attempt()>& attempt) {
  Backoff backoff;
  for (;;) {
    Attempt tried = attempt();
    if (tried.status.ok() || !tried.passing) return tried.status;
    const auto asked = AskedDelay(tried.head, SecondsSince1970());
    const auto wait_ms = backoff.Next(tried.progress, asked);
    if (!wait_ms) {
      if (asked.value_or(0) <= Backoff::kLongestAskedSeconds) return tried.status;
      return Unavailable("{}; it asks to be left alone for {} s", tried.status.error().message(),
                         *asked);
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(*wait_ms);
    while (std::chrono::steady_clock::now() < until) {
      if (stop.load()) return Cancelled("interrupted");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

Result<std::string> Hub::Endpoint() const {
  std::string endpoint = settings_.endpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const auto origin = UrlOrigin(endpoint);
  if (!origin.ok()) return InvalidArgument("HF_ENDPOINT: {}", origin.error().message());
  return endpoint;
}

Result<Listing> Hub::List(const std::string& repository, const std::string& revision) {
  ASSIGN_OR_RETURN(const std::string endpoint, Endpoint());
  const HttpRequest request{
      .url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", endpoint, repository, revision),
      .token = settings_.token};
  HttpClient client(settings_.limits, stop_);
  std::string body;
  const Status status = WithRetries(stop_, [&]() -> Attempt {
    body.clear();
    bool too_long = false;
    auto head = client.Get(request, [&](const HttpHead&, std::span<const std::uint8_t> piece) {
      too_long = body.size() + piece.size() > kLargestListing;
      if (!too_long) body.append(piece.begin(), piece.end());
      return !too_long;
    });
    if (too_long) return {.status = Unreadable("its list of files has no end")};
    if (!head.ok()) return {.status = head.error()};  // no hub there: said at once
    if (head->status == 200) return {};
    return {.status = StatusError(*head, !settings_.token.empty()),
            .head = *head,
            .passing = IsPassing(head->status)};
  });
  if (!status.ok()) return status.error().In(repository);
  Result<Listing> listing = ParseListing(body);
  if (!listing.ok()) return listing.error().In(fmt::format("{}: the hub's answer", repository));
  return listing;
}

Hub::Attempt Hub::ReadOnce(HttpClient& client, const HttpRequest& request, const File& file,
                           Bytes first, Bytes end, const Sink& sink) {
  Attempt attempt;
  std::optional<Error> wrong;
  std::optional<Bytes> position;  // in the file, of the next byte to come
  const auto head =
      client.Get(request, [&](const HttpHead& answer, std::span<const std::uint8_t> piece) {
        if (!position) {
          if (request.range && answer.status != 206) serves_ranges_.store(false);
          const auto offset = BodyOffset(answer, file, first);
          if (!offset.ok()) {
            wrong = offset.error();
            return false;
          }
          position = *offset;
        }
        const Bytes begin = *position;
        *position += static_cast<Bytes>(piece.size());
        const bool ranged = answer.status == 206;
        if (*position > (ranged ? end : file.bytes)) {
          wrong = WrongSize(file, "more");
          return false;
        }
        const Bytes from = std::clamp(first + attempt.progress, begin, *position);
        const Bytes to = std::clamp(end, begin, *position);
        if (from < to) {
          attempt.progress += to - from;
          const auto wanted =
              piece.subspan(static_cast<size_t>(from - begin), static_cast<size_t>(to - from));
          if (!sink(wanted)) return false;
        }
        // The rest of a whole file is not waited for; the end of what was asked for is.
        return ranged || *position < end || end == file.bytes;
      });
  const bool complete = first + attempt.progress == end;
  if (wrong) {
    attempt.status = *wrong;
  } else if (!head.ok()) {
    const bool cut_by_us =
        complete && head.error().code() == Code::kCancelled && !client.stop().load();
    if (!cut_by_us) attempt.status = head.error();
    attempt.passing = head.error().code() == Code::kUnavailable;
  } else if (head->status < 200 || head->status > 299) {
    attempt.status = StatusError(*head, !settings_.token.empty());
    attempt.head = *head;
    attempt.passing = IsPassing(head->status);
  } else if (!complete) {
    attempt.status = Unavailable("the hub sends {} bytes where {} were asked for", attempt.progress,
                                 end - first);
    attempt.passing = true;
  }
  return attempt;
}

Status Hub::Read(HttpClient& client, const std::string& repository, const std::string& commit,
                 const File& file, Bytes first, Bytes end, const Sink& sink) {
  CHECK(0 <= first && first <= end && end <= file.bytes);
  if (first == end) return {};
  ASSIGN_OR_RETURN(const std::string endpoint, Endpoint());
  HttpRequest request{
      .url = fmt::format("{}/{}/resolve/{}/{}", endpoint, repository, commit, file.path),
      .token = settings_.token};
  Bytes position = first;
  const Status status = WithRetries(client.stop(), [&] {
    if (position > 0 || end < file.bytes) request.range = {position, end - 1};
    Attempt attempt = ReadOnce(client, request, file, position, end, sink);
    position += attempt.progress;
    return attempt;
  });
  if (!status.ok()) return status.error().In(fmt::format("{}/{}", repository, file.path));
  return {};
}

}  // namespace tonnage::hub
