// One client's connection: reads a request within its limits, hands it to the handler, writes the
// answer, and again. Everything of a connection runs on its strand; Responder calls from other
// threads are posted there, but for pieces of a stream, which their own thread sends if it can.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <memory>

#include "server/http/message.h"
#include "server/http/server.h"

namespace tonnage::http {

namespace asio = boost::asio;

// What every connection shares with its server.
struct ConnectionContext {
  asio::io_context io;
  Limits limits;
  Handler handler;
  ErrorBody error_body;
  std::atomic<std::int64_t> connections{0};
  std::atomic<std::int64_t> answering{0};  // requests whose answers are not written
  std::atomic<Bytes> body_bytes{0};        // of all requests under way
  std::atomic<bool> draining{false};
};

// The part of a connection that its server holds on to.
class ConnectionHandle {
 public:
  virtual ~ConnectionHandle() = default;
  virtual void Start() = 0;
  // Closes at once if no request is being answered.
  virtual void CloseIfIdle() = 0;
  virtual void Close() = 0;
};

std::shared_ptr<ConnectionHandle> MakeConnection(asio::ip::tcp::socket socket,
                                                 std::shared_ptr<ConnectionContext> context);
std::shared_ptr<ConnectionHandle> MakeConnection(asio::ip::tcp::socket socket,
                                                 asio::ssl::context& tls,
                                                 std::shared_ptr<ConnectionContext> context);
std::shared_ptr<ConnectionHandle> MakeConnection(asio::local::stream_protocol::socket socket,
                                                 std::shared_ptr<ConnectionContext> context);

}  // namespace tonnage::http
