// One end of the socket between a server and a runner: messages in, messages out. Sending is safe
// from any thread and never waits: what the other side has yet to take is kept. One thread, the
// channel's, waits, reads and writes. Owns the socket.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "runner/wire.h"

namespace tonnage {

class Channel {
 public:
  explicit Channel(int socket);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // --- Any thread.
  // At the channel's thread's next exchange. TooLong where no frame can hold it.
  Status Send(const wire::Message& message);
  // Ends the channel's thread's wait.
  void Wake();
  // Sent, but not taken yet.
  std::size_t unsent_bytes() const;

  // --- The channel's thread.
  // Waits until there is something to do, or somebody woke it, or the descriptor `also` (none: -1)
  // has something to read, or so much time has passed (-1: none counts).
  void Wait(int timeout_ms, int also = -1);
  // Writes what the other side takes and appends what it has sent; waits for nothing. Unavailable
  // when the other side is gone, Internal when it sent what is no message: nothing comes any more.
  Status Exchange(std::vector<wire::Message>& received);

 private:
  Status Write();
  Status Read();

  const int socket_;
  const int wake_;  // an eventfd
  std::atomic<bool> woken_{false};

  // Of the channel's thread.
  wire::Reader reader_;
  std::vector<char> block_;

  mutable std::mutex mutex_;  // guards what follows
  std::string unsent_;
  std::size_t taken_ = 0;  // of it, by the other side
};

}  // namespace tonnage
