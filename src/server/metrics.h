// What Prometheus scrapes: how long requests take, in histograms that fill as they run, and gauges
// that are read when somebody looks. docs/serving.md lists every name. Safe from any thread; what
// it reads outlives it.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <memory>
#include <span>
#include <string>

#include "memory/report.h"
#include "service/dispatcher.h"

namespace tonnage {

// Of one model.
class Metrics final : public TextObserver {
 public:
  Metrics(const std::string& model, const TokenEngine& engine);

  void OnTokens(bool first, std::int64_t tokens, Clock::duration since) override;
  void OnDone(const TextDone& done, Clock::duration since_submitted) override;
  void OnRefused(const Error& error) override;

  // Everything of all of them, in Prometheus' text format.
  static std::string Scrape(std::span<const std::shared_ptr<Metrics>> models);

 private:
  // Reads the gauges.
  void Refresh();

  using Labels = prometheus::Labels;
  prometheus::Gauge& AddGauge(const std::string& name, const std::string& help,
                              const Labels& labels = {});
  void SetMemory(const MemoryReport& memory);
  prometheus::Counter& AddCounter(const std::string& name, const std::string& help);
  prometheus::Histogram& AddHistogram(const std::string& name, const std::string& help,
                                      const prometheus::Histogram::BucketBoundaries& bounds_s);

  const TokenEngine& engine_;
  const Labels labels_;  // the model's name
  prometheus::Registry registry_;

  prometheus::Histogram &first_token_, &inter_token_, &queue_, &prefill_, &decode_, &request_;
  prometheus::Counter &prompt_tokens_, &generated_tokens_;
  prometheus::Family<prometheus::Counter>& requests_;  // by outcome
  prometheus::Gauge &running_, &waiting_, &waiting_tokens_, &kv_use_, &steps_, &peak_;
  prometheus::Gauge &process_, &crashes_;
  prometheus::Gauge &budget_, &pressure_;
  prometheus::Gauge &live_buffers_, &cached_buffers_, &cached_bytes_, &peak_buffers_,
      &most_buffers_;
  prometheus::Gauge &running_alias_, &waiting_alias_, &kv_use_alias_, &gpu_cache_alias_;
  std::array<prometheus::Gauge*, kOwnerCount> ledger_lines_{};
};

}  // namespace tonnage
