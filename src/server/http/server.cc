#include "server/http/server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "base/exhaustion.h"
#include "server/http/connection.h"

namespace tonnage::http {
namespace {

using error_code = boost::system::error_code;
using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;

Result<std::unique_ptr<asio::ssl::context>> MakeTls(const Options& options) {
  if (options.tls_certificate.empty() && options.tls_key.empty())
    return std::unique_ptr<asio::ssl::context>();
  if (options.tls_certificate.empty() || options.tls_key.empty()) {
    return InvalidArgument("TLS needs both a certificate and a key");
  }
  auto tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  tls->use_certificate_chain_file(options.tls_certificate, error);
  if (error) return Unreadable("{}: {}", options.tls_certificate, error.message());
  tls->use_private_key_file(options.tls_key, asio::ssl::context::pem, error);
  if (error) return Unreadable("{}: {}", options.tls_key, error.message());
  return tls;
}

// Binds and listens; the acceptor's own error text with the place.
template <typename Protocol>
Status Listen(typename Protocol::acceptor& acceptor, const typename Protocol::endpoint& endpoint,
              std::string_view place) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return Unavailable("cannot listen on {}: {}", place, error.message());
  return {};
}

// What a server that was killed left in its place; one that still answers keeps it.
Status RemoveDeadSocket(const Local::endpoint& endpoint) {
  std::error_code ignored;
  if (!std::filesystem::is_socket(endpoint.path(), ignored)) return {};
  asio::io_context io;
  Local::socket probe(io);
  error_code error;
  probe.connect(endpoint, error);
  if (!error) return Unavailable("another server listens on {}", endpoint.path());
  if (error == asio::error::connection_refused) std::filesystem::remove(endpoint.path(), ignored);
  return {};
}

}  // namespace

class Server::Impl {
 public:
  Impl(Options options, Handler handler, ErrorBody error_body)
      : options_(std::move(options)), context_(std::make_shared<ConnectionContext>()) {
    context_->limits = options_.limits;
    context_->handler = std::move(handler);
    context_->error_body = std::move(error_body);
  }

  ~Impl() {
    Drain(0);
    work_.reset();  // the threads end when the last connection's last operation has
    for (std::thread& thread : threads_) thread.join();
    if (url_.starts_with("unix:")) {
      std::error_code ignored;
      std::filesystem::remove(options_.unix_socket, ignored);
    }
  }

  Status Start() {
    ASSIGN_OR_RETURN(tls_, MakeTls(options_));
    RETURN_IF_ERROR(options_.unix_socket.empty() ? ListenTcp() : ListenUnix());
    return OrExhausted([&]() -> Status {
      for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Serve(); });
      return {};
    });
  }

  const std::string& url() const { return url_; }
  std::int64_t connections() const { return context_->connections.load(); }

  std::int64_t Drain(std::int64_t deadline_ms) {
    context_->draining.store(true);
    asio::post(io_, [this] {
      error_code ignored;
      tcp_.close(ignored);
      local_.close(ignored);
    });
    ForEach([](ConnectionHandle& connection) { connection.CloseIfIdle(); });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline_ms);
    while (context_->answering.load() > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::int64_t cut = context_->answering.load();
    ForEach([](ConnectionHandle& connection) { connection.Close(); });
    return cut;
  }

 private:
  // What throws, a handler or the system that has no more memory, costs its own request: the last
  // references to that go with the exception, and it is answered as dropped.
  void Serve() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception&) {
      }
    }
  }

  Status ListenTcp() {
    error_code error;
    const auto address = asio::ip::make_address(options_.address, error);
    if (error) return InvalidArgument("`{}` is not an IP address to listen on", options_.address);
    const std::string place = options_.address + ":" + std::to_string(options_.port);
    RETURN_IF_ERROR(Listen<Tcp>(tcp_, Tcp::endpoint(address, options_.port), place));
    const std::string host = address.is_v6() ? "[" + options_.address + "]" : options_.address;
    url_ = (tls_ != nullptr ? "https://" : "http://") + host + ":" +
           std::to_string(tcp_.local_endpoint().port());
    Accept(tcp_);
    return {};
  }

  Status ListenUnix() {
    if (tls_ != nullptr) return InvalidArgument("TLS does not go with a Unix socket");
    if (options_.unix_socket.size() > 107)
      return InvalidArgument("{}: too long for a Unix socket", options_.unix_socket);
    const Local::endpoint endpoint(options_.unix_socket);
    RETURN_IF_ERROR(RemoveDeadSocket(endpoint));
    RETURN_IF_ERROR(Listen<Local>(local_, endpoint, options_.unix_socket));
    url_ = "unix:" + options_.unix_socket;
    Accept(local_);
    return {};
  }

  // Every connection gets a strand of its own. A server that stopped waiting for clients would be
  // down, so that where memory is short, it tries again.
  template <typename Acceptor>
  void Accept(Acceptor& acceptor) {
    const auto wait = [&]() -> Status {
      acceptor.async_accept(asio::any_io_executor(asio::make_strand(io_)),
                            [this, &acceptor](error_code error, auto socket) {
                              this->Accepted(acceptor, error, std::move(socket));
                            });
      return {};
    };
    while (!OrExhausted(wait).ok()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  template <typename Acceptor, typename Socket>
  void Accepted(Acceptor& acceptor, error_code error, Socket socket) {
    if (error == asio::error::operation_aborted || !acceptor.is_open()) return;
    Accept(acceptor);
    if (!error && connections() < options_.limits.connections) Add(std::move(socket));
  }

  void Add(Tcp::socket socket) {
    error_code ignored;
    socket.set_option(Tcp::no_delay(true), ignored);
    Keep(tls_ != nullptr ? MakeConnection(std::move(socket), *tls_, context_)
                         : MakeConnection(std::move(socket), context_));
  }
  void Add(Local::socket socket) { Keep(MakeConnection(std::move(socket), context_)); }

  void Keep(std::shared_ptr<ConnectionHandle> connection) {
    {
      std::lock_guard lock(mutex_);
      std::erase_if(handles_, [](const auto& handle) { return handle.expired(); });
      handles_.push_back(connection);
    }
    connection->Start();
  }

  template <typename F>
  void ForEach(F f) {
    std::vector<std::weak_ptr<ConnectionHandle>> handles;
    {
      std::lock_guard lock(mutex_);
      handles = handles_;
    }
    for (const auto& handle : handles) {
      if (auto connection = handle.lock()) f(*connection);
    }
  }

  const Options options_;
  std::shared_ptr<ConnectionContext> context_;
  std::string url_;
  std::unique_ptr<asio::ssl::context> tls_;
  asio::io_context& io_ = context_->io;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  Tcp::acceptor tcp_{io_};
  Local::acceptor local_{io_};

  std::mutex mutex_;  // guards handles_
  std::vector<std::weak_ptr<ConnectionHandle>> handles_;

  std::vector<std::thread> threads_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(Options options, Handler handler,
                                              ErrorBody error_body) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler), std::move(error_body));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::url() const { return impl_->url(); }
std::int64_t Server::connections() const { return impl_->connections(); }
std::int64_t Server::Drain(std::int64_t deadline_ms) { return impl_->Drain(deadline_ms); }

}  // namespace tonnage::http
