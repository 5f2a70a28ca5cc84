// Tonnage's own routes: /health, /ready, /metrics, /plan, /tokenize, /detokenize, /apply-template.
// docs/serving.md says what each takes and answers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "server/http/message.h"
#include "server/metrics.h"
#include "server/side_jobs.h"
#include "service/models.h"

namespace tonnage {

// What a plan is asked for; what is left out is as the server has it.
struct PlanQuery {
  std::optional<std::int64_t> context_tokens = std::nullopt;  // none: every rung
  std::optional<std::int64_t> slots = std::nullopt;
  std::optional<std::string> kv_dtype = std::nullopt;
};

// What the routes stand on; its functions may be called on any thread. What owns threads is
// borrowed and outlives the routes: a job that held its own thread's owner could be the last to.
struct OwnContext {
  std::shared_ptr<const ModelDirectory> models = nullptr;
  std::vector<std::shared_ptr<Metrics>> metrics = {};  // of each model
  SideJobs* jobs = nullptr;
  std::function<Result<Json>(const std::string& model, const PlanQuery&)> plan = {};
  std::chrono::milliseconds heartbeat{60'000};
  std::function<bool()> draining = {};
};

std::vector<http::Route> OwnRoutes(const OwnContext& context);

// The paths among them that probes and scrapers ask.
std::vector<std::string> ProbePaths();

// Nothing while the engine is well: healthy, and idle or with a step within its heartbeat.
Status CheckHeartbeat(const EngineStatus& status, Clock::time_point now,
                      std::chrono::milliseconds heartbeat);

}  // namespace tonnage
