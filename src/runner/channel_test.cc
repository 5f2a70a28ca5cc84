#include "runner/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "runner/testing.h"

namespace tonnage {
namespace {

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() {
    const auto [near, far] = MakeSocketPair();
    near_ = std::make_unique<Channel>(near);
    far_ = std::make_unique<Channel>(far);
  }
  std::unique_ptr<Channel> near_, far_;
};

TEST_F(ChannelTest, MessagesOfAnySizeArriveInOrder) {
  wire::Start start{.id = 1};
  start.request.prompt.assign(1 << 20, 3);  // more than a socket takes at a time
  ASSERT_TRUE(near_->Send(start).ok());
  ASSERT_TRUE(near_->Send(wire::Cancel{2}).ok());
  EXPECT_GT(near_->unsent_bytes(), size_t{4} << 20);
  std::vector<wire::Message> got, none;
  while (got.size() < 2) {
    ASSERT_TRUE(near_->Exchange(none).ok());
    ASSERT_TRUE(far_->Exchange(got).ok());
  }
  EXPECT_EQ(std::get<wire::Start>(got[0]).request.prompt.size(), size_t{1} << 20);
  EXPECT_EQ(std::get<wire::Cancel>(got[1]).id, 2u);
  EXPECT_EQ(near_->unsent_bytes(), 0u);
  EXPECT_TRUE(none.empty());
}

TEST_F(ChannelTest, WhatWasSaidBeforeTheEndIsHeard) {
  ASSERT_TRUE(near_->Send(wire::Cancel{3}).ok());
  std::vector<wire::Message> got;
  ASSERT_TRUE(near_->Exchange(got).ok());
  near_.reset();
  EXPECT_EQ(far_->Exchange(got).error().code(), Code::kUnavailable);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(std::get<wire::Cancel>(got[0]).id, 3u);
}

TEST_F(ChannelTest, WhatIsNoMessageIsAnError) {
  const auto [near, far] = MakeSocketPair();
  Channel channel(near);
  EXPECT_EQ(write(far, "\x01\x00\x00\x00\xff\x00", 6), 6);
  std::vector<wire::Message> got;
  EXPECT_EQ(channel.Exchange(got).error().code(), Code::kInternal);
  close(far);
}

TEST_F(ChannelTest, AWaitEndsWhenSomebodyWakesOrSends) {
  std::thread waker([&] { near_->Wake(); });
  near_->Wait(-1);
  waker.join();
  ASSERT_TRUE(far_->Send(wire::Cancel{4}).ok());
  std::vector<wire::Message> got;
  ASSERT_TRUE(far_->Exchange(got).ok());
  near_->Wait(-1);
  ASSERT_TRUE(near_->Exchange(got).ok());
  EXPECT_EQ(got.size(), 1u);
}

}  // namespace
}  // namespace tonnage
