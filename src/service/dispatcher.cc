#include "service/dispatcher.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "service/text_work.h"
#include "service/work_queue.h"

namespace tonnage {

void TextCall::Cancel() const {
  if (const auto work = work_.lock()) work->End(std::nullopt);
}

Dispatcher::Dispatcher(DispatcherOptions options)
    : options_(std::move(options)),
      queue_(std::make_shared<internal::WorkQueue>(
          internal::WorkQueueLimits{.starters = options_.threads - 1,
                                    .requests = options_.queue_requests,
                                    .bytes = options_.queue_bytes})) {
  CHECK_GE(options_.threads, 2);
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

Dispatcher::~Dispatcher() {
  EndAll(Unavailable("the server is closing"));
  for (std::thread& thread : threads_) thread.join();
}

TextCall Dispatcher::Submit(std::shared_ptr<const TextEngine> engine, TextRequest request,
                            int choices, std::shared_ptr<TextListener> listener) {
  auto work = std::make_shared<internal::TextWork>(queue_, std::move(engine), std::move(request),
                                                   choices, std::move(listener), options_.observer);
  if (const Status added = queue_->Add(work); !added.ok()) work->Refuse(added.error());
  return TextCall(work);
}

void Dispatcher::EndAll(const Error& error) {
  for (const auto& work : queue_->Close(error)) work->End(error);
}

void Dispatcher::Work() {
  while (const auto work = queue_->Take()) queue_->Return(work, work->Run());
}

std::int64_t RetryAfterSeconds(const TokenEngine& engine) {
  const EngineStatus status = engine.status();
  if (status.retry_after) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*status.retry_after - Clock::now());
    return std::clamp<std::int64_t>(left.count(), 1, 600);
  }
  const double run_s = std::chrono::duration<double>(status.mean_run).count();
  const auto slots = static_cast<double>(std::max<std::int64_t>(1, engine.cache().slots));
  return static_cast<std::int64_t>(std::ceil(std::clamp(run_s / slots, 1.0, 600.0)));
}

}  // namespace tonnage
