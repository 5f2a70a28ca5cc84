// What tests of both sides of a runner's socket stand on.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <utility>

namespace tonnage {

// Two ends of one socket.
inline std::pair<int, int> MakeSocketPair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {ends[0], ends[1]};
}

}  // namespace tonnage
