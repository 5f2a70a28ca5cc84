#include "service/work_queue.h"

#include <utility>

#include "service/text_work.h"

namespace tonnage::internal {

using State = TextWork::State;

Status WorkQueue::Add(WorkPtr work) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return *closed_;
    const auto waiting = static_cast<std::int64_t>(fresh_.size());
    if (waiting > 0 &&
        (waiting >= limits_.requests || fresh_bytes_ + work->bytes() > limits_.bytes)) {
      return Busy("the queue is full: {} requests with {} wait to be read, and {} with {} may",
                  waiting, FormatBytes(fresh_bytes_), limits_.requests, FormatBytes(limits_.bytes));
    }
    fresh_bytes_ += work->bytes();
    all_.insert(work);
    fresh_.push_back(std::move(work));
  }
  changed_.notify_one();
  return {};
}

void WorkQueue::Wake(const WorkPtr& work) {
  {
    std::lock_guard lock(mutex_);
    TextWork::Place& place = work->place;
    if (place.state == State::kStarting || place.state == State::kRunning) place.again = true;
    if (place.state != State::kIdle) return;
    MakeReady(work);
  }
  changed_.notify_one();
}

void WorkQueue::MakeReady(const WorkPtr& work) {
  work->place.state = State::kReady;
  (ready_last_ == nullptr ? ready_first_ : ready_last_->place.next) = work;
  ready_last_ = work.get();
}

std::vector<WorkQueue::WorkPtr> WorkQueue::Close(const Error& error) {
  std::lock_guard lock(mutex_);
  if (!closed_) closed_ = error;
  changed_.notify_all();
  return {all_.begin(), all_.end()};
}

WorkQueue::WorkPtr WorkQueue::TakeReady() {
  if (ready_first_ == nullptr) return nullptr;
  WorkPtr work = std::exchange(ready_first_, nullptr);
  ready_first_ = std::move(work->place.next);
  if (ready_first_ == nullptr) ready_last_ = nullptr;
  work->place.state = State::kRunning;
  return work;
}

WorkQueue::WorkPtr WorkQueue::TakeFresh() {
  if (fresh_.empty() || starting_ >= limits_.starters) return nullptr;
  WorkPtr work = std::move(fresh_.front());
  fresh_.pop_front();
  fresh_bytes_ -= work->bytes();
  ++starting_;
  work->place.state = State::kStarting;
  return work;
}

WorkQueue::WorkPtr WorkQueue::Take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (WorkPtr work = TakeReady()) return work;
    if (WorkPtr work = TakeFresh()) return work;
    if (closed_ && all_.empty()) return nullptr;
    changed_.wait(lock);
  }
}

void WorkQueue::Return(const WorkPtr& work, bool finished) {
  std::lock_guard lock(mutex_);
  TextWork::Place& place = work->place;
  if (place.state == State::kStarting) {
    --starting_;
    changed_.notify_one();  // for a thread that waits for its turn to start something
  }
  place.state = finished ? State::kFinished : State::kIdle;
  if (finished) {
    all_.erase(work);
    if (closed_) changed_.notify_all();
  } else if (std::exchange(place.again, false)) {
    MakeReady(work);
    changed_.notify_one();
  }
}

}  // namespace tonnage::internal
