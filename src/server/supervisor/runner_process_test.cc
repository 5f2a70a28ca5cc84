#include "server/supervisor/runner_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tonnage {
namespace {

using testing::HasSubstr;

class RunnerProcessTest : public testing::Test {
 protected:
  RunnerProcessTest()
      : log_(std::filesystem::path(testing::TempDir()) /
             ("runner_process_test." + std::to_string(getpid()))) {
    std::ofstream(log_) << "of an earlier runner\n";
  }
  ~RunnerProcessTest() override { std::filesystem::remove(log_); }

  LaunchedRunner Launch(const std::string& script) {
    auto launched = LaunchRunner(
        {.program = "/bin/sh", .arguments = {"-c", script}, .log_path = log_.string()});
    EXPECT_TRUE(launched.ok()) << launched.error().message();
    return std::move(*launched);
  }
  static ExitCause WaitFor(RunnerProcess& process) {
    pollfd exit{.fd = process.exit_fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&exit, 1, 30'000), 1);
    const auto cause = process.Exited();
    EXPECT_TRUE(cause.has_value());
    return cause.value_or(ExitCause{});
  }
  // Reads one word that the process sends over its socket.
  static std::string Hear(int socket) {
    char word[64];
    const ssize_t count = read(socket, word, sizeof(word));
    return {word, static_cast<size_t>(std::max<ssize_t>(count, 0))};
  }

  const std::filesystem::path log_;
};

TEST_F(RunnerProcessTest, AnExitCodeAndTheLastLines) {
  const LaunchedRunner runner = Launch("echo one; echo two >&2; exit 3");
  EXPECT_EQ(WaitFor(*runner.process).Describe(), "exit code 3");
  EXPECT_EQ(runner.process->LogTail(1000), "one\ntwo");
  EXPECT_EQ(runner.process->LogTail(5), "two");
  close(runner.socket);
}

TEST_F(RunnerProcessTest, ASignalHasItsName) {
  const LaunchedRunner runner = Launch("kill -SEGV $$");
  EXPECT_EQ(WaitFor(*runner.process).Describe(), "killed by SIGSEGV");
  close(runner.socket);
}

TEST_F(RunnerProcessTest, TheSocketIsAllThatItInherits) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);  // not close-on-exec, like a library's sockets
  const LaunchedRunner runner = Launch(
      "echo hello >&3; read line <&3; n=0; while [ $n -lt 40 ]; do "
      "[ -e /proc/$$/fd/$n ] && echo $n; n=$((n+1)); done");
  EXPECT_EQ(Hear(runner.socket), "hello\n");
  EXPECT_EQ(write(runner.socket, "go\n", 3), 3);
  WaitFor(*runner.process);
  EXPECT_EQ(runner.process->LogTail(1000), "0\n1\n2\n3");
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  close(runner.socket);
}

TEST_F(RunnerProcessTest, KilledAtOnceEvenWhenStopped) {
  const LaunchedRunner runner = Launch("echo here >&3; exec sleep 1000");
  EXPECT_EQ(Hear(runner.socket), "here\n");
  EXPECT_FALSE(runner.process->Exited().has_value());
  const auto pid = static_cast<pid_t>(runner.process->id());
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT), 0);
  EXPECT_TRUE(runner.process->DumpStacks());
  EXPECT_THAT(runner.process->LogTail(10'000), HasSubstr("state T"));
  runner.process->Kill();
  EXPECT_EQ(WaitFor(*runner.process).Describe(), "killed by SIGKILL");
  close(runner.socket);
}

TEST_F(RunnerProcessTest, TheProcessorsTimeIsSeen) {
  const LaunchedRunner runner = Launch("while :; do :; done");
  // The test's own time limit is what ends this where it is not.
  while (runner.process->CpuTime() < std::chrono::milliseconds(20)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  close(runner.socket);
}

TEST_F(RunnerProcessTest, ItsOwnersEndIsItsEnd) {
  LaunchedRunner runner = Launch("echo here >&3; exec sleep 1000");
  EXPECT_EQ(Hear(runner.socket), "here\n");
  const auto pid = static_cast<pid_t>(runner.process->id());
  runner.process.reset();
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(Hear(runner.socket), "");
  close(runner.socket);
}

TEST_F(RunnerProcessTest, WhatCannotBeStartedSaysSo) {
  const auto launched =
      LaunchRunner({.program = "/no/such/program", .arguments = {}, .log_path = log_.string()});
  ASSERT_TRUE(launched.ok());
  EXPECT_EQ(WaitFor(*launched->process).code, 127);
  EXPECT_THAT(launched->process->LogTail(1000), HasSubstr("cannot be started"));
  close(launched->socket);
  EXPECT_FALSE(LaunchRunner({.program = "/bin/true", .arguments = {}, .log_path = "/no/log"}).ok());
}

}  // namespace
}  // namespace tonnage
