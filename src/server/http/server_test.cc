#include "server/http/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/testing.h"

namespace tonnage::http {
namespace {

using namespace std::chrono_literals;

// A blocking client that says exactly the bytes that a test wants.
class Client {
 public:
  explicit Client(const std::string& url) {
    if (url.starts_with("unix:")) {
      socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strncpy(address.sun_path, url.c_str() + 5, sizeof(address.sun_path) - 1);
      connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    } else {
      socket_ = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port =
          htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
      inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
      connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    }
    timeval timeout{.tv_sec = 5, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  }
  ~Client() { Close(); }
  void Close() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
  bool connected() const { return connected_; }
  void Send(std::string_view text) { (void)!send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Reads until `end` has been seen or the server closes.
  std::string ReadUntil(std::string_view end) {
    size_t found = received_.find(end);
    while (found == std::string::npos) {
      char block[4096];
      const ssize_t bytes = recv(socket_, block, sizeof(block), 0);
      if (bytes <= 0) break;
      const size_t searched = received_.size() - std::min(received_.size(), end.size() - 1);
      received_.append(block, static_cast<size_t>(bytes));
      found = received_.find(end, searched);
    }
    const size_t length = found == std::string::npos ? received_.size() : found + end.size();
    std::string text = received_.substr(0, length);
    received_.erase(0, length);
    return text;
  }
  void Skip(size_t bytes) {
    std::vector<char> block(1 << 16);
    while (bytes > 0) {
      const ssize_t read = recv(socket_, block.data(), std::min(block.size(), bytes), 0);
      if (read <= 0) return;
      bytes -= static_cast<size_t>(read);
    }
  }
  std::string ReadAll() { return ReadUntil("\x01never\x01"); }

 private:
  int socket_ = -1;
  bool connected_ = false;
  std::string received_;
};

Response TextError(int status, std::string_view message, std::string_view) {
  return {
      .status = status, .content_type = "text/plain", .body = std::string(message), .headers = {}};
}

std::unique_ptr<Server> StartServer(Handler handler, Limits limits = {},
                                    std::string unix_socket = {}) {
  Options options;
  options.limits = limits;
  options.unix_socket = std::move(unix_socket);
  auto server = Server::Start(options, std::move(handler), TextError);
  EXPECT_TRUE(server.ok()) << server.error().message();
  return std::move(server).value();
}

void Echo(Request request, std::shared_ptr<Responder> responder) {
  responder->Reply(
      {.status = 200,
       .content_type = "text/plain",
       .body = request.method + " " + request.path + "?" + request.query + " " + request.body,
       .headers = {}});
}

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  auto server = StartServer(Echo);
  Client client(server->url());
  for (int i = 0; i < 3; ++i) {
    client.Send("POST /a%20b?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_NE(client.ReadUntil("hello").find("POST /a b?x=1 hello"), std::string::npos);
  }
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  auto server = StartServer(Echo);
  Client client(server->url());
  std::string all;
  for (int i = 0; i < 20; ++i) all += "GET /n" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  client.Send(all);
  for (int i = 0; i < 20; ++i) EXPECT_NE(client.ReadUntil("/n" + std::to_string(i) + "? "), "");
}

TEST(HttpServer, ServesAUnixSocketAndRemovesIt) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/socket";
  {
    auto server = StartServer(Echo, {}, path);
    Client client(server->url());
    client.Send("GET /u HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    EXPECT_NE(client.ReadAll().find("GET /u?"), std::string::npos);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(HttpServer, TakesADeadUnixSocketsPlaceAndNoLiveOnes) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/socket";
  const int left = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(left);

  const auto first = StartServer(Echo, {}, path);
  Options options;
  options.unix_socket = path;
  const auto second = Server::Start(options, Echo, TextError);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message(), "another server listens on " + path);
  Client client(first->url());
  client.Send("GET /u HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.ReadAll().find("GET /u?"), std::string::npos);
}

TEST(HttpServer, StreamsPiecesFromAnotherThread) {
  std::vector<std::thread> threads;
  auto server = StartServer([&](Request, std::shared_ptr<Responder> responder) {
    threads.emplace_back([responder] {
      responder->Begin(
          {.status = 200, .content_type = "text/event-stream", .body = "", .headers = {}});
      for (int i = 0; i < 5; ++i) responder->Write("piece" + std::to_string(i));
      responder->End();
    });
  });
  Client client(server->url());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string answer = client.ReadUntil("\r\n0\r\n\r\n");
  EXPECT_NE(answer.find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_NE(answer.find("6\r\npiece0\r\n"), std::string::npos);
  EXPECT_NE(answer.find("6\r\npiece4\r\n"), std::string::npos);
  for (std::thread& thread : threads) thread.join();
}

// Some pieces are sent by the thread that makes them, others by the server's: whatever the client's
// pace, they come in order.
TEST(HttpServer, PiecesOfAStreamKeepTheirOrder) {
  constexpr int kPieces = 4000;
  std::thread thread;
  auto server = StartServer([&](Request, std::shared_ptr<Responder> responder) {
    thread = std::thread([responder] {
      responder->Begin({.status = 200, .content_type = "text/plain", .body = "", .headers = {}});
      for (int i = 0; i < kPieces; ++i) responder->Write(fmt::format("{:05}{:>1000}", i, "."));
      responder->End();
    });
  });
  Client client(server->url());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  std::this_thread::sleep_for(20ms);  // the socket's buffers fill
  const std::string answer = client.ReadUntil("\r\n0\r\n\r\n");
  size_t at = answer.find("\r\n\r\n") + 2;
  for (int i = 0; i < kPieces; ++i) {
    const std::string chunk = fmt::format("\r\n3ed\r\n{:05}{:>1000}", i, ".");
    ASSERT_EQ(answer.compare(at, chunk.size(), chunk), 0) << "piece " << i;
    at += chunk.size();
  }
  thread.join();
}

TEST(HttpServer, SaysWhenAClientHasTakenWhatWasWritten) {
  std::promise<void> taken;
  std::shared_ptr<Responder> held;
  std::promise<void> begun;
  auto server = StartServer([&](Request, std::shared_ptr<Responder> responder) {
    responder->Begin({.status = 200, .content_type = "text/plain", .body = "x", .headers = {}});
    held = std::move(responder);
    begun.set_value();
  });
  Client client(server->url());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  begun.get_future().wait();
  const std::string piece(16 << 20, 'p');  // more than the sockets' buffers hold
  held->Write(piece);
  EXPECT_GT(held->pending_bytes(), piece.size() / 2);
  held->WhenBelow(1000, [&] { taken.set_value(); });
  auto future = taken.get_future();
  EXPECT_EQ(future.wait_for(20ms), std::future_status::timeout);
  client.Skip(piece.size());
  EXPECT_EQ(future.wait_for(5s), std::future_status::ready);
}

TEST(HttpServer, SaysThatNothingIsPendingWhenTheClientHasGone) {
  std::promise<void> taken;
  std::shared_ptr<Responder> held;
  std::promise<void> begun;
  auto server = StartServer([&](Request, std::shared_ptr<Responder> responder) {
    responder->Begin({.status = 200, .content_type = "text/plain", .body = "x", .headers = {}});
    held = std::move(responder);
    begun.set_value();
  });
  Client client(server->url());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  begun.get_future().wait();
  const std::string piece(16 << 20, 'p');
  held->Write(piece);
  EXPECT_GT(held->pending_bytes(), piece.size() / 2);
  held->WhenBelow(1000, [&] { taken.set_value(); });
  client.Close();
  EXPECT_EQ(taken.get_future().wait_for(5s), std::future_status::ready);
}

TEST(HttpServer, NoticesAClientThatGoes) {
  std::promise<void> gone;
  std::shared_ptr<Responder> held;
  auto server = StartServer([&](Request, std::shared_ptr<Responder> responder) {
    responder->OnGone([&] { gone.set_value(); });
    responder->Begin({.status = 200, .content_type = "text/plain", .body = "x", .headers = {}});
    held = responder;
  });
  {
    Client client(server->url());
    client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    client.ReadUntil("x\r\n");
  }
  ASSERT_EQ(gone.get_future().wait_for(5s), std::future_status::ready);
  EXPECT_TRUE(held->gone());
  held->Write("late");
  held->End();
}

TEST(HttpServer, ADroppedRequestIsAnswered) {
  auto server = StartServer([](Request, std::shared_ptr<Responder>) {});
  Client client(server->url());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(client.ReadUntil("without an answer").find("HTTP/1.1 500"), std::string::npos);
}

TEST(HttpServer, AHandlerThatThrowsCostsItsOwnRequest) {
  auto server = StartServer([](Request request, std::shared_ptr<Responder> responder) {
    if (request.path == "/reply") throw std::bad_alloc();
    if (request.path == "/stream") {
      responder->Begin({.status = 200, .content_type = "text/plain", .body = "x", .headers = {}});
      throw std::runtime_error("half way");
    }
    Echo(std::move(request), std::move(responder));
  });
  for (int i = 0; i < 5; ++i) {  // more often than the server has threads
    Client client(server->url());
    client.Send("GET /reply HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_NE(client.ReadUntil("without an answer").find("HTTP/1.1 500"), std::string::npos);
    client.Send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_NE(client.ReadUntil("/next? "), "") << "on the same connection";
    client.Send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.ReadAll().find("\r\n0\r\n\r\n"), std::string::npos)
        << "a stream that is cut looks whole";
  }
  EXPECT_EQ(server->Drain(5000), 0);
}

TEST(HttpServer, RefusesWhatIsTooLargeTooSlowOrMalformed) {
  Limits limits;
  limits.header_bytes = 1024;
  limits.body_bytes = 1000;
  limits.header_ms = 200;
  limits.body_grace_ms = 200;
  auto server = StartServer(Echo, limits);
  const auto answer = [&](std::string_view text) {
    Client client(server->url());
    client.Send(text);
    return client.ReadAll().substr(0, 12);
  };
  EXPECT_EQ(answer("GET / HTTP/1.1\r\nX: " + std::string(5000, 'a') + "\r\n\r\n"), "HTTP/1.1 431");
  EXPECT_EQ(answer("POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n"), "HTTP/1.1 413");
  EXPECT_EQ(answer("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
                   std::string(2000, 'b')),
            "HTTP/1.1 413");
  EXPECT_EQ(answer("nonsense\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(answer("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(answer("POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(answer("GET / HT"), "HTTP/1.1 408");
  EXPECT_EQ(answer("POST / HTTP/1.1\r\nContent-Length: 500\r\n\r\nslow"), "HTTP/1.1 408");
  Client after(server->url());
  after.Send("GET /still HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(after.ReadAll().find("GET /still?"), std::string::npos);
}

// A request of `bytes` in its body, all of which comes or none.
std::string Posted(size_t bytes, bool whole = true) {
  return "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" +
         (whole ? std::string(bytes, 'x') : "");
}

TEST(HttpServer, BodiesAreBoundedOverAllConnections) {
  Limits limits;
  limits.body_bytes = 60'000;
  limits.all_bodies_bytes = 100'000;
  std::mutex mutex;
  std::vector<std::shared_ptr<Responder>> held;  // of "/" in the order of arrival
  auto server = StartServer(
      [&](const Request&, std::shared_ptr<Responder> responder) {
        std::lock_guard lock(mutex);
        held.push_back(std::move(responder));
      },
      limits);
  const auto wait_for_held = [&](size_t count) {
    for (;; std::this_thread::yield()) {
      std::lock_guard lock(mutex);
      if (held.size() == count) return;
    }
  };
  const auto answer_all = [&] {
    std::lock_guard lock(mutex);
    for (const auto& responder : held) responder->Reply({.status = 200, .body = "done"});
    held.clear();
  };
  Client first(server->url()), second(server->url()), none(server->url());
  first.Send(Posted(50'000));
  wait_for_held(1);
  second.Send(Posted(50'000));
  wait_for_held(2);
  // Refused at its head, before a byte of it comes; and one that does not say how long it is.
  for (const std::string& more :
       {Posted(1, false), std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                                      "chunked\r\n\r\n3\r\nabc\r\n")}) {
    Client refused(server->url());
    refused.Send(more);
    const std::string answer = refused.ReadAll();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos);
    EXPECT_NE(answer.find("send it again later"), std::string::npos);
  }
  none.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");  // without a body there is nothing to wait for
  wait_for_held(3);
  answer_all();
  first.ReadUntil("done");
  second.ReadUntil("done");
  // What is answered counts no more, and the connections serve on; nor does what was given up.
  std::promise<void> gone;
  first.Send(Posted(50'000));
  wait_for_held(1);
  held[0]->OnGone([&] { gone.set_value(); });
  second.Send(Posted(50'000));
  wait_for_held(2);
  first.Close();
  gone.get_future().wait();
  Client third(server->url());
  third.Send(Posted(50'000));
  wait_for_held(3);
  answer_all();
  EXPECT_NE(third.ReadUntil("done").find("200 OK"), std::string::npos);
}

TEST(HttpServer, DrainWaitsForAnswersAndCutsTheRest) {
  std::vector<std::shared_ptr<Responder>> held;
  std::atomic<int> requests{0};
  auto server = StartServer([&](Request, std::shared_ptr<Responder> responder) {
    held.push_back(responder);
    requests.fetch_add(1);
  });
  Client idle(server->url());
  Client waiting(server->url());
  waiting.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  while (requests.load() < 1) std::this_thread::sleep_for(1ms);
  auto drained = std::async(std::launch::async, [&] { return server->Drain(5000); });
  EXPECT_EQ(idle.ReadAll(), "");
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(Client(server->url()).connected());
  held[0]->Reply({.status = 200, .content_type = "text/plain", .body = "done", .headers = {}});
  EXPECT_NE(waiting.ReadAll().find("done"), std::string::npos);
  EXPECT_EQ(drained.get(), 0);
}

TEST(HttpServer, DrainCountsWhatItCuts) {
  std::shared_ptr<Responder> held;
  std::atomic<bool> here{false};
  auto server = StartServer([&](Request, std::shared_ptr<Responder> responder) {
    held = std::move(responder);
    here.store(true);
  });
  Client client(server->url());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  while (!here.load()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(server->Drain(10), 1);
  EXPECT_EQ(client.ReadAll(), "");
  server.reset();
  held->Reply({});  // outlives its server, and does nothing
}

TEST(HttpServer, DrainWaitsUntilAnswersAreWritten) {
  constexpr size_t kBytes = 16 << 20;  // more than any socket's buffers hold
  auto server = StartServer([](Request, std::shared_ptr<Responder> responder) {
    responder->Reply({.body = std::string(kBytes, 'a')});
  });
  Client client(server->url());
  client.Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.ReadUntil("\r\n\r\n");
  auto drained = std::async(std::launch::async, [&] { return server->Drain(20'000); });
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(drained.wait_for(0ms), std::future_status::timeout);
  EXPECT_EQ(client.ReadAll().size(), kBytes);
  EXPECT_EQ(drained.get(), 0);
}

TEST(HttpServer, ARefusalReachesAClientThatIsStillSending) {
  auto server = StartServer(Echo, {.body_bytes = 1000});
  Client client(server->url());
  client.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n");
  for (int i = 0; i < 16; ++i) {
    client.Send(std::string(1 << 16, 'b'));
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_EQ(client.ReadAll().substr(0, 12), "HTTP/1.1 413");
}

TEST(HttpServer, PlaceThatCannotBeHadIsAnError) {
  auto server = StartServer(Echo);
  Options options;
  options.port =
      static_cast<std::uint16_t>(std::stoi(server->url().substr(server->url().rfind(':') + 1)));
  EXPECT_EQ(Server::Start(options, Echo, TextError).error().code(), Code::kUnavailable);
  options.address = "not an address";
  EXPECT_EQ(Server::Start(options, Echo, TextError).error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tonnage::http
