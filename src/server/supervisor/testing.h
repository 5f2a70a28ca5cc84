// A runner that a test plays, and a clock that it moves: what tests of the supervisor and the fleet
// stand on.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/channel.h"
#include "runner/testing.h"
#include "server/supervisor/supervisor.h"

namespace tonnage {

// What has become of a process that is none.
struct FakeProcess {
  std::int64_t id = 0;
  std::unique_ptr<Channel> channel;  // the runner's end
  std::optional<ExitCause> exit;
  bool killed = false;
  bool dumped = false;
  bool gone = false;  // its owner has let go of it
  Available share;
  std::chrono::nanoseconds cpu_time{};

  void Say(const wire::Message& message) {
    std::vector<wire::Message> heard;
    EXPECT_TRUE(channel->Send(message).ok());
    EXPECT_TRUE(channel->Exchange(heard).ok());
  }
  void Die(ExitCause cause) {
    channel.reset();
    exit = cause;
  }
};

class FakeRunnerProcess final : public RunnerProcess {
 public:
  explicit FakeRunnerProcess(std::shared_ptr<FakeProcess> state) : state_(std::move(state)) {}
  ~FakeRunnerProcess() override { state_->gone = true; }
  std::int64_t id() const override { return state_->id; }
  int exit_fd() const override { return -1; }
  std::optional<ExitCause> Exited() override { return state_->exit; }
  void Kill() override {
    state_->killed = true;
    state_->Die({.signal = 9});
  }
  std::chrono::nanoseconds CpuTime() const override { return state_->cpu_time; }
  bool DumpStacks() override {
    state_->dumped = true;
    return false;
  }
  std::string LogTail(std::size_t) const override { return "its last words"; }

 private:
  const std::shared_ptr<FakeProcess> state_;
};

// The processes that were started, in order.
class FakeLauncher {
 public:
  explicit FakeLauncher(std::int64_t first_id = 100) : next_id_(first_id) {}
  Launcher launcher() {
    return [this](const Available& share) -> Result<LaunchedRunner> {
      if (failure) return *failure;
      const auto [near, far] = MakeSocketPair();
      auto process = std::make_shared<FakeProcess>();
      process->id = next_id_++;
      process->channel = std::make_unique<Channel>(far);
      process->share = share;
      started.push_back(process);
      return LaunchedRunner{.process = std::make_unique<FakeRunnerProcess>(process),
                            .socket = near};
    };
  }
  FakeProcess& last() { return *started.back(); }

  std::vector<std::shared_ptr<FakeProcess>> started;
  std::optional<Error> failure;

 private:
  std::int64_t next_id_;
};

}  // namespace tonnage
