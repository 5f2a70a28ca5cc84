#include "server/side_jobs.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>

namespace tonnage {
namespace {

TEST(SideJobs, AJobThatThrowsIsDroppedAndTheNextRuns) {
  SideJobs jobs;
  auto held = std::make_shared<std::promise<void>>();
  auto dropped = held->get_future();
  ASSERT_TRUE(jobs.Post([held = std::move(held)] { throw std::runtime_error("no memory"); }).ok());
  std::promise<void> ran;
  ASSERT_TRUE(jobs.Post([&] { ran.set_value(); }).ok());
  ran.get_future().wait();
  EXPECT_THROW(dropped.get(), std::future_error) << "what the job held is let go, unanswered";
}

TEST(SideJobs, ManyThatWaitAreBusy) {
  std::promise<void> begun, go;
  SideJobs jobs(2);
  ASSERT_TRUE(jobs.Post([&] {
                    begun.set_value();
                    go.get_future().wait();
                  })
                  .ok());
  begun.get_future().wait();
  std::promise<void> last;
  ASSERT_TRUE(jobs.Post([] {}).ok());
  ASSERT_TRUE(jobs.Post([&] { last.set_value(); }).ok());
  EXPECT_EQ(jobs.Post([] {}).error().code(), Code::kBusy);
  go.set_value();
  last.get_future().wait();
}

}  // namespace
}  // namespace tonnage
