#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>

namespace tonnage {
namespace {

using Bounds = prometheus::Histogram::BucketBoundaries;

// Seconds. A token takes from a millisecond to a few seconds, a request up to many minutes.
const Bounds kTokenBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5};
const Bounds kRequestBounds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,  1,   2.5,
                               5,     10,    25,   50,    100,  250, 500,  1000, 2500};

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Metrics::Metrics(const std::string& model, const TokenEngine& engine)
    : engine_(engine),
      labels_({{"model_name", model}}),
      first_token_(AddHistogram("tonnage_time_to_first_token_seconds",
                                "From a request's arrival to the first token of its answer",
                                kRequestBounds)),
      inter_token_(AddHistogram("tonnage_inter_token_latency_seconds",
                                "From one token of an answer to the next", kTokenBounds)),
      queue_(AddHistogram("tonnage_queue_seconds", "Waiting for a slot", kRequestBounds)),
      prefill_(AddHistogram("tonnage_prefill_seconds", "From the slot to the first token",
                            kRequestBounds)),
      decode_(AddHistogram("tonnage_decode_seconds", "From the first token to the end",
                           kRequestBounds)),
      request_(AddHistogram("tonnage_request_seconds", "From arrival to the end", kRequestBounds)),
      prompt_tokens_(AddCounter("tonnage_prompt_tokens_total", "Tokens of prompts")),
      generated_tokens_(AddCounter("tonnage_generated_tokens_total", "Tokens of answers")),
      requests_(prometheus::BuildCounter()
                    .Name("tonnage_requests_total")
                    .Help("Answers that ended, by how, and requests that were refused, by why")
                    .Labels(labels_)
                    .Register(registry_)),
      running_(AddGauge("tonnage_requests_running", "Answers under way")),
      waiting_(AddGauge("tonnage_requests_waiting", "Requests that wait for a slot")),
      waiting_tokens_(AddGauge("tonnage_waiting_tokens", "Tokens of the prompts that wait")),
      kv_use_(AddGauge("tonnage_kv_usage_ratio", "Reserved pages of the KV cache, of all")),
      steps_(AddGauge("tonnage_engine_steps", "Steps that the engine has done")),
      peak_(AddGauge("tonnage_ledger_peak_bytes", "The most that was ever held")),
      process_(AddGauge("tonnage_runner_process_id", "The process that runs the model; 0: none")),
      crashes_(AddGauge("tonnage_runner_crashes", "How often that process has died")),
      budget_(AddGauge("tonnage_budget_bytes", "Memory that may be held, as the host is now")),
      pressure_(AddGauge("tonnage_memory_pressure",
                         "0: none, 1: caches yield, 2: new requests are refused")),
      live_buffers_(AddGauge("tonnage_buffers", "Buffers that are held", {{"state", "live"}})),
      cached_buffers_(AddGauge("tonnage_buffers", "Buffers that are held", {{"state", "cached"}})),
      cached_bytes_(AddGauge("tonnage_cached_bytes", "Memory that freed buffers keep for reuse")),
      peak_buffers_(AddGauge("tonnage_buffers_peak", "The most buffers that were ever held")),
      most_buffers_(AddGauge("tonnage_budget_buffers", "Buffers that may be held")),
      running_alias_(AddGauge("vllm:num_requests_running", "Same as tonnage_requests_running")),
      waiting_alias_(AddGauge("vllm:num_requests_waiting", "Same as tonnage_requests_waiting")),
      kv_use_alias_(AddGauge("vllm:kv_cache_usage_perc", "Same as tonnage_kv_usage_ratio")),
      gpu_cache_alias_(AddGauge("vllm:gpu_cache_usage_perc", "Same as tonnage_kv_usage_ratio")) {
  auto& lines = prometheus::BuildGauge()
                    .Name("tonnage_ledger_bytes")
                    .Help("Memory that is held, by owner")
                    .Labels(labels_)
                    .Register(registry_);
  for (int owner = 0; owner < kOwnerCount; ++owner) {
    std::string name(OwnerName(static_cast<Owner>(owner)));
    std::ranges::replace(name, ' ', '_');
    ledger_lines_[static_cast<size_t>(owner)] = &lines.Add({{"owner", name}});
  }
  AddGauge("tonnage_slots", "Answers that can be under way at a time")
      .Set(static_cast<double>(engine.cache().slots));
  AddGauge("tonnage_context_tokens", "The longest prompt and answer")
      .Set(static_cast<double>(engine.cache().context_tokens));
}

prometheus::Gauge& Metrics::AddGauge(const std::string& name, const std::string& help,
                                     const Labels& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Labels(labels_).Register(registry_).Add(
      labels);
}

prometheus::Counter& Metrics::AddCounter(const std::string& name, const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Labels(labels_).Register(registry_).Add(
      {});
}

prometheus::Histogram& Metrics::AddHistogram(const std::string& name, const std::string& help,
                                             const Bounds& bounds_s) {
  return prometheus::BuildHistogram().Name(name).Help(help).Labels(labels_).Register(registry_).Add(
      {}, bounds_s);
}

void Metrics::OnTokens(bool first, std::int64_t tokens, Clock::duration since) {
  if (first) {
    first_token_.Observe(Seconds(since));
    return;
  }
  for (std::int64_t i = 0; i < tokens; ++i) {
    inter_token_.Observe(Seconds(since) / static_cast<double>(tokens));
  }
}

void Metrics::OnDone(const TextDone& done, Clock::duration since_submitted) {
  requests_.Add({{"outcome", std::string(FinishReasonName(done.reason))}}).Increment();
  prompt_tokens_.Increment(static_cast<double>(done.usage.prompt_tokens));
  generated_tokens_.Increment(static_cast<double>(done.usage.generated_tokens));
  queue_.Observe(Seconds(done.usage.queued));
  prefill_.Observe(Seconds(done.usage.prefill));
  decode_.Observe(Seconds(done.usage.decode));
  request_.Observe(Seconds(since_submitted));
}

void Metrics::OnRefused(const Error& error) {
  requests_.Add({{"outcome", std::string(CodeName(error.code()))}}).Increment();
}

void Metrics::SetMemory(const MemoryReport& memory) {
  for (size_t owner = 0; owner < memory.by_owner.size(); ++owner) {
    ledger_lines_[owner]->Set(static_cast<double>(memory.by_owner[owner]));
  }
  peak_.Set(static_cast<double>(memory.peak_bytes));
  budget_.Set(static_cast<double>(memory.budget.limit_bytes));
  pressure_.Set(static_cast<double>(memory.pressure));
  live_buffers_.Set(static_cast<double>(memory.live_buffers()));
  cached_buffers_.Set(static_cast<double>(memory.cached_buffers));
  cached_bytes_.Set(static_cast<double>(memory.cached_bytes));
  peak_buffers_.Set(static_cast<double>(memory.budget.peak_buffers));
  most_buffers_.Set(static_cast<double>(memory.budget.limit_buffers));
}

void Metrics::Refresh() {
  const EngineStatus status = engine_.status();
  const auto running = static_cast<double>(status.running);
  const auto waiting = static_cast<double>(status.waiting);
  const double use = status.pages == 0 ? 0
                                       : static_cast<double>(status.pages - status.free_pages) /
                                             static_cast<double>(status.pages);
  running_.Set(running);
  running_alias_.Set(running);
  waiting_.Set(waiting);
  waiting_alias_.Set(waiting);
  waiting_tokens_.Set(static_cast<double>(status.waiting_tokens));
  kv_use_.Set(use);
  kv_use_alias_.Set(use);
  gpu_cache_alias_.Set(use);
  steps_.Set(static_cast<double>(status.steps));
  SetMemory(status.memory);
  process_.Set(static_cast<double>(status.process_id));
  crashes_.Set(static_cast<double>(status.crashes));
}

std::string Metrics::Scrape(std::span<const std::shared_ptr<Metrics>> models) {
  // A name may be announced only once, so the models' series go under one heading.
  std::vector<prometheus::MetricFamily> all;
  for (const auto& model : models) {
    model->Refresh();
    for (prometheus::MetricFamily& family : model->registry_.Collect()) {
      const auto same = std::ranges::find(all, family.name, &prometheus::MetricFamily::name);
      if (same == all.end()) {
        all.push_back(std::move(family));
      } else {
        same->metric.insert(same->metric.end(), family.metric.begin(), family.metric.end());
      }
    }
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace tonnage
