#include "checkpoint/hub/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <utility>

#include "checkpoint/quoted.h"

namespace tonnage::hub {
namespace {

constexpr int kMostRedirects = 8;
constexpr size_t kMostHeaderBytes = 256 * 1024;

using Url = std::unique_ptr<CURLU, void (*)(CURLU*)>;

std::string UrlPart(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string result(text);
  curl_free(text);
  return result;
}

// libcurl's own set-up, once a process.
void StartCurl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)started;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

// What libcurl's callbacks see of an exchange.
struct HttpClient::Exchange {
  const BodySink& sink;
  const std::atomic<bool>& stop;
  HttpHead head = {};
  size_t header_bytes = 0;
  bool sink_stopped = false;

  static size_t OnHeader(char* data, size_t, size_t size, void* context) {
    auto& self = *static_cast<Exchange*>(context);
    const std::string_view line(data, size);
    self.header_bytes += size;
    if (self.header_bytes > kMostHeaderBytes) return 0;
    if (line.starts_with("HTTP/")) {  // also of a proxy, or a 100 before the answer itself
      self.head = {};
      return size;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return size;
    std::string name(Trimmed(line.substr(0, colon)));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    self.head.headers[std::move(name)] = Trimmed(line.substr(colon + 1));
    return size;
  }
  static size_t OnBody(char* data, size_t, size_t size, void* context) {
    auto& self = *static_cast<Exchange*>(context);
    if (self.head.status == 0) {
      long status = 0;
      curl_easy_getinfo(self.curl, CURLINFO_RESPONSE_CODE, &status);
      self.head.status = static_cast<int>(status);
    }
    if (self.head.status < 200 || self.head.status > 299) return size;
    if (self.sink(self.head, {reinterpret_cast<const std::uint8_t*>(data), size})) return size;
    self.sink_stopped = true;
    return CURL_WRITEFUNC_ERROR;
  }
  static int OnProgress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Exchange*>(context)->stop.load() ? 1 : 0;
  }

  CURL* curl = nullptr;
};

std::string_view HttpHead::Header(std::string_view name) const {
  const auto it = headers.find(name);
  return it == headers.end() ? std::string_view() : std::string_view(it->second);
}

HttpClient::HttpClient(const HttpLimits& limits, const std::atomic<bool>& stop)
    : stop_(stop), limits_(limits), curl_(nullptr, curl_easy_cleanup) {
  StartCurl();
  curl_.reset(curl_easy_init());
  CHECK(curl_ != nullptr);
}

HttpClient::~HttpClient() = default;

Status HttpClient::Perform(const std::string& url, const HttpRequest& request, bool with_token,
                           Exchange& exchange) {
  CURL* curl = curl_.get();
  curl_easy_reset(curl);  // options only: the connection stays
  char message[CURL_ERROR_SIZE] = "";
  exchange.curl = curl;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "tonnage");
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(limits_.connect_seconds));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits_.stall_seconds));
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, Exchange::OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Exchange::OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, Exchange::OnProgress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (request.range) {
    const auto range = fmt::format("{}-{}", request.range->first, request.range->last);
    curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  }
  if (with_token) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, request.token.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  exchange.head.status = static_cast<int>(status);
  if (code == CURLE_OK) return {};
  if (stop_.load()) return Cancelled("interrupted");
  if (exchange.sink_stopped) return Cancelled("no more is wanted");
  return Unavailable("{}", message[0] != '\0' ? message : curl_easy_strerror(code));
}

Result<HttpHead> HttpClient::Get(const HttpRequest& request, const BodySink& sink) {
  ASSIGN_OR_RETURN(const std::string home, UrlOrigin(request.url));
  std::string url = request.url;
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    ASSIGN_OR_RETURN(const std::string origin, UrlOrigin(url));
    const bool with_token = !request.token.empty() && origin == home;
    Exchange exchange{.sink = sink, .stop = stop_};
    const Status status = Perform(url, request, with_token, exchange);
    if (!status.ok()) return status.error().In(origin);
    const std::string location(exchange.head.Header("location"));
    const bool redirected = exchange.head.status >= 300 && exchange.head.status <= 399;
    if (!redirected || location.empty()) return std::move(exchange.head);
    ASSIGN_OR_RETURN(url, RedirectTarget(url, location));
  }
  return Unreadable("{}: redirects more than {} times", home, kMostRedirects);
}

Result<std::string> UrlOrigin(const std::string& text) {
  const Url url(curl_url(), curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
    return Unreadable("{} is no URL", Quoted(text));
  const std::string scheme = UrlPart(url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https")
    return Unreadable("{} is no http or https URL", Quoted(text));
  std::string host = UrlPart(url.get(), CURLUPART_HOST);
  for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return fmt::format("{}://{}:{}", scheme, host,
                     UrlPart(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

Result<std::string> RedirectTarget(const std::string& from, const std::string& location) {
  const Url url(curl_url(), curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, from.c_str(), 0) != CURLUE_OK ||
      curl_url_set(url.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK) {
    return Unreadable("{} redirects to {}, which is no URL", Quoted(from), Quoted(location));
  }
  std::string target = UrlPart(url.get(), CURLUPART_URL);
  ASSIGN_OR_RETURN(const std::string origin, UrlOrigin(target));
  if (from.starts_with("https:") && !origin.starts_with("https:")) {
    return Unreadable("{} redirects from https to {}, which anybody could read", Quoted(from),
                      Quoted(origin));
  }
  return target;
}

}  // namespace tonnage::hub
