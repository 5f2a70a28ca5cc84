#include "cli/workload.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace tonnage::cli {
namespace {

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Of one request. The engine's thread adds while ours may look.
class Arrivals {
 public:
  explicit Arrivals(std::int64_t tokens) {
    times_.reserve(static_cast<size_t>(tokens) + 1);  // and the end's
  }
  void Add() {
    std::lock_guard lock(mutex_);
    times_.push_back(Clock::now());
  }
  std::vector<Clock::time_point> First(size_t tokens) const {
    std::lock_guard lock(mutex_);
    return {times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(tokens)};
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Clock::time_point> times_;
};

Result<std::vector<std::int32_t>> ReadAnswer(Generation& generation) {
  std::vector<std::int32_t> ids;
  while (auto event = generation.Next()) {
    if (const auto* token = std::get_if<TokenEvent>(&*event)) ids.push_back(token->token);
    const auto* done = std::get_if<DoneEvent>(&*event);
    if (done != nullptr && done->error) return *done->error;
  }
  return ids;
}

}  // namespace

Result<Timeline> RunSideBySide(TokenEngine& engine,
                               const std::vector<std::vector<std::int32_t>>& prompts,
                               std::int64_t generate) {
  std::vector<std::shared_ptr<Arrivals>> arrivals;
  std::vector<Request> requests;
  for (const std::vector<std::int32_t>& prompt : prompts) {
    arrivals.push_back(std::make_shared<Arrivals>(generate));
    requests.push_back({.prompt = prompt, .max_tokens = generate});
    requests.back().sampling.temperature = 0;
  }
  Timeline timeline{.start = Clock::now(), .tokens = {}, .first_ids = {}};
  std::vector<Generation> generations;
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSIGN_OR_RETURN(std::vector<Generation> one,
                     engine.Start(std::move(requests[i]), 1, [own = arrivals[i]] { own->Add(); }));
    generations.push_back(std::move(one.front()));
  }
  for (size_t i = 0; i < generations.size(); ++i) {
    ASSIGN_OR_RETURN(std::vector<std::int32_t> ids, ReadAnswer(generations[i]));
    timeline.tokens.push_back(arrivals[i]->First(ids.size()));
    if (i == 0) timeline.first_ids = std::move(ids);
  }
  return timeline;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double FirstTokenSeconds(const Timeline& timeline) {
  return Seconds(timeline.tokens.front().front() - timeline.start);
}

double DecodeTokensPerSecond(const Timeline& timeline) {
  const auto& tokens = timeline.tokens.front();
  if (tokens.size() < 2) return 0;
  return static_cast<double>(tokens.size() - 1) / Seconds(tokens.back() - tokens.front());
}

double SideBySideTokensPerSecond(const Timeline& timeline) {
  Clock::time_point begin = timeline.start, end = Clock::time_point::max();
  for (const auto& tokens : timeline.tokens) {
    begin = std::max(begin, tokens.front());
    end = std::min(end, tokens.back());
  }
  if (end <= begin) return 0;
  std::int64_t count = 0;
  for (const auto& tokens : timeline.tokens) {
    count += std::upper_bound(tokens.begin(), tokens.end(), end) -
             std::upper_bound(tokens.begin(), tokens.end(), begin);
  }
  return static_cast<double>(count) / Seconds(end - begin);
}

Service ServiceOf(const Timeline& timeline) {
  std::vector<double> first, gaps;
  Clock::time_point last = timeline.start;
  size_t count = 0;
  for (const auto& tokens : timeline.tokens) {
    first.push_back(Seconds(tokens.front() - timeline.start));
    for (size_t i = 1; i < tokens.size(); ++i) gaps.push_back(Seconds(tokens[i] - tokens[i - 1]));
    last = std::max(last, tokens.back());
    count += tokens.size();
  }
  Service service{.tokens_per_s = static_cast<double>(count) / Seconds(last - timeline.start),
                  .first_token_s = Median(first)};
  if (!gaps.empty()) {
    service.longest_inter_token_s = *std::max_element(gaps.begin(), gaps.end());
    service.inter_token_s = Median(std::move(gaps));
  }
  return service;
}

}  // namespace tonnage::cli
