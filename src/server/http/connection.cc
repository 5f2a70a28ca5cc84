#include "server/http/connection.h"

#include <sys/socket.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>

#include "server/http/framing.h"

namespace tonnage::http {
namespace {

namespace beast = boost::beast;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using error_code = boost::system::error_code;

// How long a client that was refused may go on sending.
constexpr std::int64_t kLingerMs = 2'000;

// The HTTP status and message of a parse failure.
std::pair<int, std::string> Describe(const error_code& error) {
  using E = beast::http::error;
  if (error == E::header_limit) return {431, "the request's headers are too large"};
  if (error == E::body_limit) return {413, "the request's body is too large"};
  return {400, "malformed HTTP: " + error.message()};
}

template <typename Stream>
class Connection final : public ConnectionHandle,
                         public std::enable_shared_from_this<Connection<Stream>> {
 public:
  Connection(Stream stream, std::shared_ptr<ConnectionContext> context)
      : context_(std::move(context)), stream_(std::move(stream)), timer_(stream_.get_executor()) {
    context_->connections.fetch_add(1);
  }
  ~Connection() override {
    Uncount();  // where an exception left a request unanswered
    DropBody();
    context_->connections.fetch_sub(1);
  }

  void Start() override {
    OnStrand([this] {
      if (context_->draining.load()) return Shut();
      if constexpr (kTls) {
        ArmTimer(context_->limits.header_ms);
        stream_.async_handshake(asio::ssl::stream_base::server,
                                Bind([this](error_code error, auto...) {
                                  if (error) return Shut();
                                  ReadHead();
                                }));
      } else {
        ReadHead();
      }
    });
  }
  void CloseIfIdle() override {
    OnStrand([this] {
      if (!counted_) Shut();
    });
  }
  void Close() override {
    OnStrand([this] { Shut(); });
  }

 private:
  static constexpr bool kTls = requires(Stream & s) { s.next_layer(); };
  class Answer;

  // A completion handler that keeps the connection alive while it is outstanding.
  template <typename F>
  auto Bind(F f) {
    return [self = this->shared_from_this(), f = std::move(f)](auto&&... arguments) mutable {
      f(std::forward<decltype(arguments)>(arguments)...);
    };
  }
  template <typename F>
  void OnStrand(F f) {
    asio::post(stream_.get_executor(), Bind(std::move(f)));
  }

  // One deadline at a time; when it passes, the connection closes, with an answer first if
  // `on_late` gives one.
  void ArmTimer(std::int64_t ms, std::function<void()> on_late = {}) {
    if (closed_) return;
    timer_.expires_after(milliseconds(ms));
    timer_.async_wait(Bind([this, on_late = std::move(on_late)](error_code error) {
      if (error || timer_.expiry() > Clock::now()) return;
      if (on_late) return on_late();
      Shut();
    }));
  }

  void ReadHead() {
    if (closed_) return;
    if (context_->draining.load()) return Shut();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(context_->limits.header_bytes));
    parser_->body_limit(static_cast<std::uint64_t>(context_->limits.body_bytes));
    path_.clear();
    if (buffer_.size() > 0) return ReadRest();
    ArmTimer(context_->limits.idle_ms);
    stream_.async_read_some(buffer_.prepare(4096), Bind([this](error_code error, size_t bytes) {
                              if (error) return Shut();
                              buffer_.commit(bytes);
                              ReadRest();
                            }));
  }

  void ReadRest() {
    ArmTimer(context_->limits.header_ms, [this] { Fail(408, "the request's head took too long"); });
    beast::http::async_read_header(
        stream_, buffer_, *parser_, Bind([this](error_code error, size_t) {
          if (closed_) return;
          if (error == beast::http::error::end_of_stream || IsTransport(error)) return Shut();
          if (error) {
            const auto [status, message] = Describe(error);
            return Fail(status, message);
          }
          StartBody();
        }));
  }

  static bool IsTransport(const error_code& error) {
    return error && error.category() !=
                        beast::http::make_error_code(beast::http::error::bad_method).category();
  }

  void StartBody() {
    const std::string target(parser_->get().target());
    const auto path = DecodePath(std::string_view(target).substr(0, target.find('?')));
    if (!path) return Fail(400, "the request's path has a malformed escape");
    path_ = *path;
    const auto length = parser_->content_length();
    if (length && !HoldBody(static_cast<Bytes>(*length))) return FailForBodies();
    if (beast::iequals(parser_->get()[beast::http::field::expect], "100-continue")) {
      asio::async_write(
          stream_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
          Bind([this](error_code error, size_t) { error ? Shut() : StartReadingBody(); }));
    } else {
      StartReadingBody();
    }
  }

  void StartReadingBody() {
    body_started_ = Clock::now();
    ReadBody();
  }

  void ReadBody() {
    if (parser_->is_done()) return Dispatch();
    const Limits& limits = context_->limits;
    const auto received = static_cast<std::int64_t>(parser_->get().body().size());
    if (!HoldBody(received)) return FailForBodies();
    const auto allowed_ms = limits.body_grace_ms + received * 1000 / limits.body_bytes_per_s;
    const auto spent_ms =
        std::chrono::duration_cast<milliseconds>(Clock::now() - body_started_).count();
    ArmTimer(std::max<std::int64_t>(0, allowed_ms - spent_ms),
             [this] { Fail(408, "the request's body came too slowly"); });
    beast::http::async_read_some(stream_, buffer_, *parser_, Bind([this](error_code error, size_t) {
                                   if (closed_) return;
                                   if (IsTransport(error)) return Shut();
                                   if (error) {
                                     const auto [status, message] = Describe(error);
                                     return Fail(status, message);
                                   }
                                   ReadBody();
                                 }));
  }

  // Counts the request's body as one of so many bytes; false, and nothing changes, when that is too
  // much beside all others. A length that was announced is held before it comes.
  bool HoldBody(Bytes bytes) {
    if (bytes <= held_body_bytes_) return true;
    const Limits& limits = context_->limits;
    const Bytes more = bytes - held_body_bytes_;
    const Bytes all = context_->body_bytes.fetch_add(more) + more;
    if (all > std::max(limits.all_bodies_bytes, limits.body_bytes)) {
      context_->body_bytes.fetch_sub(more);
      return false;
    }
    held_body_bytes_ = bytes;
    return true;
  }
  void DropBody() { context_->body_bytes.fetch_sub(std::exchange(held_body_bytes_, 0)); }

  void FailForBodies() {
    Fail(503, "the bodies of other requests take all the memory for them: send it again later",
         {{"Retry-After", "1"}});
  }

  // Answers an error of the HTTP layer's own and closes: what follows in the stream cannot be
  // trusted.
  void Fail(int status, std::string_view message, const Headers& headers = {}) {
    if (closed_ || answering_) return;
    Response response = context_->error_body(status, message, path_);
    response.headers.insert(response.headers.end(), headers.begin(), headers.end());
    answering_ = keep_alive_ = false;
    last_write_ = failed_ = true;
    Send(Head(response, false, response.body.size()) + response.body);
  }

  void Dispatch() {
    timer_.cancel();
    auto message = parser_->release();
    keep_alive_ = message.keep_alive();
    const std::string_view target = message.target();
    const size_t mark = target.find('?');
    Request request{.method = std::string(message.method_string()),
                    .path = path_,
                    .query = mark == std::string_view::npos ? std::string()
                                                            : std::string(target.substr(mark + 1)),
                    .headers = {},
                    .body = std::move(message.body())};
    for (const auto& field : message) {
      request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    head_only_ = message.method() == beast::http::verb::head;
    answering_ = counted_ = true;
    streaming_ = false;
    context_->answering.fetch_add(1);
    auto answer = std::make_shared<Answer>(this->shared_from_this());
    answer_ = answer;
    if (!watching_ && buffer_.size() == 0) WatchForGone();
    context_->handler(std::move(request), std::move(answer));
  }

  // While an answer is made, a read stands ready to notice a client that goes. What it brings
  // instead belongs to the next request, and a client that sends so early is not watched any
  // further.
  void WatchForGone() {
    watching_ = true;
    stream_.async_read_some(buffer_.prepare(4096), Bind([this](error_code error, size_t bytes) {
                              watching_ = false;
                              if (error) return Shut();
                              buffer_.commit(bytes);
                              if (std::exchange(next_when_read_, false)) ReadHead();
                            }));
  }

  void ReplyWhole(const Response& response) {
    if (!answering_ || streaming_ || closed_) return;
    const std::string head = Head(response, KeepAlive(), response.body.size());
    FinishAfter(head_only_ ? head : head + response.body);
  }
  void BeginStream(const Response& head) {
    if (!answering_ || streaming_ || closed_) return;
    streaming_ = true;
    std::string out = Head(head, KeepAlive(), std::nullopt);
    if (!head.body.empty()) out += Chunk(head.body);
    Send(std::move(out));
  }
  // Any thread. Sends at once what an idle connection takes, so that a streamed token needs no
  // second thread; the strand sends the rest.
  void WritePiece(std::string_view piece) {
    if (piece.empty()) return;
    std::string chunk = Chunk(piece);
    {
      std::lock_guard lock(direct_mutex_);
      if (direct_ && queued_pieces_ == 0) chunk.erase(0, SendNow(chunk));
      if (chunk.empty()) return;
      ++queued_pieces_;
    }
    pending_bytes_.fetch_add(chunk.size());
    OnStrand([this, chunk = std::move(chunk)]() mutable {
      {
        std::lock_guard lock(direct_mutex_);
        --queued_pieces_;
      }
      pending_bytes_.fetch_sub(chunk.size());
      if (answering_ && streaming_ && !closed_) Send(std::move(chunk));
    });
  }
  // How much of it the socket took.
  size_t SendNow(std::string_view bytes) {
    if constexpr (kTls) return 0;
    const int descriptor = beast::get_lowest_layer(stream_).native_handle();
    const ssize_t sent = send(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent > 0 ? static_cast<size_t>(sent) : 0;  // the strand's write meets the error again
  }
  void SetDirect(bool direct) {
    std::lock_guard lock(direct_mutex_);
    direct_ = direct;
  }
  void EndStream() {
    if (answering_ && streaming_ && !closed_) FinishAfter("0\r\n\r\n");
  }
  // The last reference to an answer went without completing it.
  void Abandon() {
    if (!answering_ || closed_) return;
    if (streaming_) return Shut();
    ReplyWhole(context_->error_body(500, "the request was dropped without an answer", path_));
  }

  bool KeepAlive() const { return keep_alive_ && !context_->draining.load(); }

  void FinishAfter(std::string out) {
    if (!KeepAlive()) keep_alive_ = false;
    EndAnswer();
    last_write_ = true;
    Send(std::move(out));
  }

  void EndAnswer() {
    if (!answering_) return;
    answering_ = false;
    answer_.reset();
  }
  // The answer is written, or nobody is there to take it.
  void Uncount() {
    if (std::exchange(counted_, false)) context_->answering.fetch_sub(1);
  }

  void Send(std::string out) {
    SetDirect(false);
    pending_bytes_.fetch_add(out.size());
    outgoing_.push_back(std::move(out));
    if (outgoing_.size() == 1) WriteNext();
  }

  void WriteNext() {
    ArmTimer(context_->limits.write_ms);
    asio::async_write(stream_, asio::buffer(outgoing_.front()),
                      Bind([this](error_code error, size_t) {
                        if (error || closed_) return Shut();
                        pending_bytes_.fetch_sub(outgoing_.front().size());
                        outgoing_.pop_front();
                        if (auto answer = answer_.lock()) answer->NotifyTaken();
                        if (!outgoing_.empty()) return WriteNext();
                        timer_.cancel();
                        if (last_write_) return NextRequest();
                        SetDirect(answering_ && streaming_);
                      }));
  }

  void NextRequest() {
    last_write_ = false;
    Uncount();
    DropBody();
    if (std::exchange(failed_, false)) return Linger();
    if (!keep_alive_) return Shut();
    if (!watching_) return ReadHead();
    // Two reads may not be outstanding: the watching one will bring the next request's first bytes.
    next_when_read_ = true;
    ArmTimer(context_->limits.idle_ms);
  }

  // A client that is still sending a request that has been refused: to close at once would reset
  // the connection and take the answer from it.
  void Linger() {
    error_code ignored;
    beast::get_lowest_layer(stream_).shutdown(asio::socket_base::shutdown_send, ignored);
    ArmTimer(kLingerMs);
    Discard();
  }
  void Discard() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(1 << 16), Bind([this](error_code error, size_t) {
                              if (error || closed_) return Shut();
                              Discard();
                            }));
  }

  void Shut() {
    if (closed_) return;
    closed_ = true;
    SetDirect(false);
    timer_.cancel();
    error_code ignored;
    beast::get_lowest_layer(stream_).shutdown(asio::socket_base::shutdown_both, ignored);
    beast::get_lowest_layer(stream_).close(ignored);
    DropBody();
    gone_.store(true);
    if (auto answer = answer_.lock()) answer->NotifyGone();
    EndAnswer();
    Uncount();
  }

  std::shared_ptr<ConnectionContext> context_;  // owns the io_context, so it goes last
  Stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<beast::http::request_parser<beast::http::string_body>> parser_;
  std::string path_;
  Clock::time_point body_started_;
  Bytes held_body_bytes_ = 0;  // of context_->body_bytes
  std::deque<std::string> outgoing_;
  std::weak_ptr<Answer> answer_;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool answering_ = false;       // a request was dispatched and its answer is not complete
  bool counted_ = false;         // its answer is not written yet
  bool streaming_ = false;       // its head is out
  bool failed_ = false;          // the answer that is written is Fail's
  bool last_write_ = false;      // when the queue is empty, the answer is out
  bool watching_ = false;        // the read that notices a client that goes is outstanding
  bool next_when_read_ = false;  // that read brings the next request
  bool closed_ = false;
  std::atomic<size_t> pending_bytes_{0};
  std::atomic<bool> gone_{false};

  std::mutex direct_mutex_;  // guards what follows, and the socket against closing during SendNow
  bool direct_ = false;      // a streamed answer has begun, and none of it is being written
  int queued_pieces_ = 0;    // on their way to the strand
};

// The Responder of one request. Holds its connection, so that a late answer has somewhere to go.
template <typename Stream>
class Connection<Stream>::Answer final : public Responder,
                                         public std::enable_shared_from_this<Answer> {
 public:
  explicit Answer(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~Answer() override {
    if (!completed_.load()) Post([](Connection& connection) { connection.Abandon(); });
  }

  void Reply(Response response) override {
    if (completed_.exchange(true)) return;
    Post([response = std::move(response)](Connection& connection) {
      connection.ReplyWhole(response);
    });
  }
  void Begin(Response head) override {
    Post([head = std::move(head)](Connection& connection) { connection.BeginStream(head); });
  }
  void Write(std::string_view piece) override {
    if (!gone()) connection_->WritePiece(piece);
  }
  void End() override {
    if (completed_.exchange(true)) return;
    Post([](Connection& connection) { connection.EndStream(); });
  }
  size_t pending_bytes() const override { return connection_->pending_bytes_.load(); }
  bool gone() const override { return connection_->gone_.load(); }
  void OnGone(std::function<void()> callback) override {
    if (gone()) return callback();
    Post([self = this->shared_from_this(), callback = std::move(callback)](Connection& connection) {
      if (connection.closed_) return callback();
      self->on_gone_ = callback;
    });
  }
  void WhenBelow(size_t bytes, std::function<void()> callback) override {
    if (gone() || pending_bytes() < bytes) return callback();
    connection_->OnStrand(
        [self = this->shared_from_this(), bytes, callback = std::move(callback)]() mutable {
          self->below_ = bytes;
          self->on_below_ = std::move(callback);
          self->NotifyTaken();
        });
  }
  // On the strand.
  void NotifyGone() {
    if (auto callback = std::exchange(on_gone_, nullptr)) callback();
    NotifyTaken();
  }
  void NotifyTaken() {
    if (on_below_ == nullptr || !(gone() || pending_bytes() < below_)) return;
    std::exchange(on_below_, nullptr)();
  }

 private:
  // Runs f on the connection's strand; nothing is left to do once the client has gone.
  template <typename F>
  void Post(F f) {
    if (gone()) return;
    connection_->OnStrand([c = connection_.get(), f = std::move(f)] { f(*c); });
  }

  std::shared_ptr<Connection> connection_;
  std::function<void()> on_gone_;
  std::function<void()> on_below_;
  size_t below_ = 0;  // with on_below_
  std::atomic<bool> completed_{false};
};

}  // namespace

std::shared_ptr<ConnectionHandle> MakeConnection(asio::ip::tcp::socket socket,
                                                 std::shared_ptr<ConnectionContext> context) {
  return std::make_shared<Connection<asio::ip::tcp::socket>>(std::move(socket), std::move(context));
}

std::shared_ptr<ConnectionHandle> MakeConnection(asio::ip::tcp::socket socket,
                                                 asio::ssl::context& tls,
                                                 std::shared_ptr<ConnectionContext> context) {
  using Stream = asio::ssl::stream<asio::ip::tcp::socket>;
  return std::make_shared<Connection<Stream>>(Stream(std::move(socket), tls), std::move(context));
}

std::shared_ptr<ConnectionHandle> MakeConnection(asio::local::stream_protocol::socket socket,
                                                 std::shared_ptr<ConnectionContext> context) {
  return std::make_shared<Connection<asio::local::stream_protocol::socket>>(std::move(socket),
                                                                            std::move(context));
}

}  // namespace tonnage::http
