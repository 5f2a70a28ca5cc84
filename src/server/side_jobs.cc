#include "server/side_jobs.h"

#include <exception>
#include <utility>

namespace tonnage {

SideJobs::SideJobs(size_t most_waiting)
    : most_waiting_(most_waiting), thread_([this] { Work(); }) {}

SideJobs::~SideJobs() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Status SideJobs::Post(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting_) {
      return Busy("{} requests of this kind wait already: send it again later", most_waiting_);
    }
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  return {};
}

void SideJobs::Work() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      job();
    } catch (const std::exception&) {  // the job is over, and lets go of what it was to answer
    }
  }
}

}  // namespace tonnage
