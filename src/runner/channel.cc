#include "runner/channel.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace tonnage {
namespace {

constexpr std::size_t kBlockBytes = 64 << 10;
// Of one exchange, so that whoever is sent much also gets to do something.
constexpr int kMostBlocks = 16;

Error Gone() { return Unavailable("the other side of the socket is gone"); }

}  // namespace

Channel::Channel(int socket)
    : socket_(socket), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), block_(kBlockBytes) {
  CHECK_GE(wake_, 0);
}

Channel::~Channel() {
  close(socket_);
  close(wake_);
}

Status Channel::Send(const wire::Message& message) {
  std::lock_guard lock(mutex_);
  return wire::Append(message, unsent_);
}

void Channel::Wake() {
  if (woken_.exchange(true)) return;
  const std::uint64_t one = 1;
  (void)!write(wake_, &one, sizeof(one));
}

std::size_t Channel::unsent_bytes() const {
  std::lock_guard lock(mutex_);
  return unsent_.size() - taken_;
}

void Channel::Wait(int timeout_ms, int also) {
  const bool writes = unsent_bytes() > 0;
  pollfd watched[] = {
      {.fd = socket_, .events = static_cast<short>(POLLIN | (writes ? POLLOUT : 0)), .revents = 0},
      {.fd = wake_, .events = POLLIN, .revents = 0},
      {.fd = also, .events = POLLIN, .revents = 0}};
  poll(watched, 3, timeout_ms);  // an interrupted wait is a short one
  std::uint64_t count = 0;
  (void)!read(wake_, &count, sizeof(count));
  woken_.exchange(false);  // not a store: what was done before the waking is to be seen
}

Status Channel::Exchange(std::vector<wire::Message>& received) {
  const Status written = Write();
  // What it said before it went still counts.
  Status status = Read();
  for (;;) {
    auto message = reader_.Next();
    if (!message.ok()) return message.error();
    if (!*message) break;
    received.push_back(**std::move(message));
  }
  if (!status.ok()) return status;
  return written;
}

Status Channel::Write() {
  std::lock_guard lock(mutex_);
  while (taken_ < unsent_.size()) {
    const ssize_t count = send(socket_, unsent_.data() + taken_, unsent_.size() - taken_,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (count < 0) return Gone();
    taken_ += static_cast<std::size_t>(count);
  }
  // A long prompt leaves no long buffer behind.
  if (unsent_.capacity() > kBlockBytes) unsent_ = {};
  unsent_.clear();
  taken_ = 0;
  return {};
}

Status Channel::Read() {
  for (int i = 0; i < kMostBlocks;) {
    const ssize_t count = recv(socket_, block_.data(), block_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (count <= 0) return Gone();
    reader_.Push({block_.data(), static_cast<std::size_t>(count)});
    ++i;
  }
  return {};
}

}  // namespace tonnage
