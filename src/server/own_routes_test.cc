#include "server/own_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>

#include "engine/engine.h"
#include "engine/testing.h"
#include "server/http/testing.h"
#include "server/served_models.h"

namespace tonnage {
namespace {

using testing::HasSubstr;

// An engine whose process tells of its memory.
class ReportingEngine final : public TokenEngine {
 public:
  explicit ReportingEngine(TokenEngine& engine) : engine_(engine) {}
  Result<std::vector<Generation>> Start(Request request, int choices,
                                        std::function<void()> on_event) override {
    return engine_.Start(std::move(request), choices, std::move(on_event));
  }
  const ModelInfo& info() const override { return engine_.info(); }
  const CacheSettings& cache() const override { return engine_.cache(); }
  Quote quote() const override { return engine_.quote(); }
  EngineStatus status() const override {
    EngineStatus status = engine_.status();
    status.memory = memory;
    return status;
  }

  MemoryReport memory;

 private:
  TokenEngine& engine_;
};

class OwnRoutesTest : public testing::Test {
 protected:
  OwnRoutesTest() : engine_(ToyModel({.vocab = 256, .context_tokens = 600, .slots = 3}, backend_)) {
    auto text = OpenModelText(TONNAGE_SOURCE_DIR "/tests/golden/tiny_chat");
    EXPECT_TRUE(text.ok()) << text.error().message();
    text_engine_ = TextEngine::Make(engine_, std::move(*text)).value();
    metrics_ = std::make_shared<Metrics>("toy", reporting_);
    routes_ = OwnRoutes(
        {.models = std::make_shared<ServedModels>(
             std::vector<ServedModel>{{.names = {"toy", "play"}, .engine = text_engine_}}),
         .metrics = {metrics_, std::make_shared<Metrics>("other", engine_)},
         .jobs = &jobs_,
         .plan = [this](const std::string& model, const PlanQuery& query) -> Result<Json> {
           planned_ = model;
           if (before_plan_) before_plan_();
           query_ = query;
           return Json{{"plans", Json::array()}};
         },
         .draining = [this] { return draining_; }});
  }
  http::Response Ask(std::string_view method, std::string_view path, std::string body = {},
                     std::string query = {}) {
    const auto responder = std::make_shared<http::FakeResponder>();
    for (const http::Route& route : routes_) {
      if (route.method == method && route.path == path) {
        route.handler({.method = std::string(method),
                       .path = std::string(path),
                       .query = std::move(query),
                       .headers = {},
                       .body = std::move(body)},
                      responder);
        return responder->WaitForEnd();
      }
    }
    return {.status = 0};
  }
  Json Post(std::string_view path, std::string body) {
    const http::Response response = Ask("POST", path, std::move(body));
    EXPECT_EQ(response.status, 200) << response.body;
    return ParseJson(response.body).value();
  }
  void ExpectRefused(std::string_view path, std::string body, const std::string& message) {
    const http::Response response = Ask("POST", path, std::move(body));
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_THAT(response.body, HasSubstr(message));
  }

  ToyBackend backend_;
  Engine engine_;
  ReportingEngine reporting_{engine_};
  std::shared_ptr<const TextEngine> text_engine_;
  std::shared_ptr<Metrics> metrics_;
  std::function<void()> before_plan_;
  std::optional<PlanQuery> query_;
  std::string planned_;
  bool draining_ = false;
  SideJobs jobs_;
  std::vector<http::Route> routes_;
};

TEST_F(OwnRoutesTest, TokensThereAndBack) {
  const Json tokens = Post("/tokenize", R"({"content": "Hé"})");
  EXPECT_EQ(tokens["count"], 3);
  EXPECT_EQ(tokens["max_model_len"], 600);
  const Json text = Post("/detokenize", DumpJson({{"tokens", tokens["tokens"]}}));
  EXPECT_EQ(text["content"], "Hé");
  ExpectRefused("/tokenize", "{}", "`content` is missing");
  ExpectRefused("/tokenize", R"({"content": 3})", "content");
  ExpectRefused("/tokenize", R"({"content": "x", "contents": 1})", "`contents` is not known");
  ExpectRefused("/detokenize", R"({"tokens": [1.5]})", "");
  ExpectRefused("/detokenize", "[]", "must be a JSON object");
  ExpectRefused("/detokenize", "{", "");
  std::string many = "[1";
  for (int i = 0; i < 1 << 20; ++i) many += ",1";
  ExpectRefused("/detokenize", "{\"tokens\": " + many + "]}", "values");
  EXPECT_EQ(Ask("POST", "/tokenize", R"({"model": "other", "content": "x"})").status, 404);
}

TEST_F(OwnRoutesTest, TemplatesAreApplied) {
  EXPECT_EQ(
      Post("/apply-template", R"({"messages": [{"role": "user", "content": "Hi"}]})")["prompt"],
      "<s>user: Hi\nassistant:");
  ExpectRefused("/apply-template", R"({"messages": "Hi"})", "`messages` must be an array");
}

TEST_F(OwnRoutesTest, PlansAreAskedForInEitherWay) {
  Post("/plan", R"({"context_tokens": 512, "slots": 2, "kv_dtype": "f32"})");
  EXPECT_EQ(query_->context_tokens, 512);
  EXPECT_EQ(query_->slots, 2);
  EXPECT_EQ(query_->kv_dtype, "f32");
  EXPECT_EQ(Ask("GET", "/plan", "", "slots=3&kv_dtype=bf16").status, 200);
  EXPECT_EQ(query_->context_tokens, std::nullopt);
  EXPECT_EQ(query_->slots, 3);
  EXPECT_EQ(query_->kv_dtype, "bf16");
  EXPECT_EQ(Ask("GET", "/plan", "", "slots=many").status, 400);
  EXPECT_EQ(Ask("GET", "/plan", "", "slot=1&&=").status, 400);
  EXPECT_EQ(Ask("GET", "/plan").status, 200);
  EXPECT_EQ(planned_, "toy");
  EXPECT_EQ(Ask("GET", "/plan", "", "model=play").status, 200);
  EXPECT_EQ(planned_, "play");
}

// A server that is taken down lets go of its routes while a job of theirs may still run.
TEST_F(OwnRoutesTest, AJobOutlivesItsRoutes) {
  std::promise<void> begun, go;
  before_plan_ = [&] {
    begun.set_value();
    go.get_future().wait();
  };
  const auto client = std::make_shared<http::FakeResponder>();
  const auto plan = std::find_if(routes_.begin(), routes_.end(),
                                 [](const http::Route& route) { return route.path == "/plan"; });
  plan->handler({.method = "POST", .path = "/plan", .query = {}, .headers = {}, .body = {}},
                client);
  begun.get_future().wait();
  routes_.clear();
  go.set_value();
  EXPECT_EQ(client->WaitForEnd().status, 200);
}

TEST_F(OwnRoutesTest, ReadyIsNeverTrueOfADeadEngine) {
  EXPECT_EQ(Ask("GET", "/health").status, 200);
  EXPECT_EQ(Ask("GET", "/ready").status, 200);
  draining_ = true;
  EXPECT_EQ(Ask("GET", "/ready").status, 503);
  draining_ = false;
  backend_.control().FailNextStep();
  auto generation = engine_.Start({.prompt = {1}, .max_tokens = 5});
  while (generation->Next()) {
  }
  const http::Response dead = Ask("GET", "/ready");
  EXPECT_EQ(dead.status, 503);
  EXPECT_THAT(dead.body, HasSubstr("the device failed"));
  EXPECT_EQ(Ask("GET", "/health").status, 200);
}

TEST_F(OwnRoutesTest, ReadinessIsOfTheModelThatIsAskedFor) {
  EXPECT_EQ(Ask("GET", "/ready", "", "model=play").status, 200);
  EXPECT_EQ(Ask("GET", "/ready", "", "model=other").status, 404);
  EXPECT_EQ(Ask("GET", "/ready", "", "modell=play").status, 400);
  // One model under two names is counted once.
  EXPECT_EQ((*ParseJson(Ask("GET", "/ready").body))["free_slots"], 3);
}

TEST(Heartbeat, IsMissedOnlyByWhatHasWork) {
  const Clock::time_point now = Clock::now();
  EngineStatus status{.stepped_at = now - std::chrono::seconds(61)};
  const auto check = [&] { return CheckHeartbeat(status, now, std::chrono::seconds(60)); };
  EXPECT_TRUE(check().ok());
  status.waiting = 1;
  EXPECT_EQ(check().error().code(), Code::kUnavailable);
  status.stepped_at = now - std::chrono::seconds(59);
  EXPECT_TRUE(check().ok());
}

TEST_F(OwnRoutesTest, MetricsHaveHistogramsGaugesAndTheGatewaysNames) {
  MemoryReport& memory = reporting_.memory;
  memory.by_owner[static_cast<size_t>(Owner::kPrefixCache)] = 77;
  memory.peak_bytes = 77;
  memory.budget = {.limit_bytes = 500, .limit_buffers = 40, .used_buffers = 3, .peak_buffers = 4};
  memory.cached_buffers = 2;
  memory.cached_bytes = 90;
  memory.pressure = Pressure::kAdmissionsClosed;
  metrics_->OnTokens(true, 1, std::chrono::milliseconds(30));
  metrics_->OnTokens(false, 4, std::chrono::milliseconds(8));
  metrics_->OnDone({.reason = FinishReason::kLength, .usage = {.prompt_tokens = 3}},
                   std::chrono::seconds(2));
  metrics_->OnRefused(Busy("full"));
  backend_.control().Hold();
  auto generation = engine_.Start({.prompt = {1}, .max_tokens = 200});
  while (engine_.status().running == 0) std::this_thread::yield();
  const std::string text = Ask("GET", "/metrics").body;
  backend_.control().Resume();
  for (const char* line :
       {R"(tonnage_time_to_first_token_seconds_count{model_name="toy"} 1)",
        R"(tonnage_inter_token_latency_seconds_count{model_name="toy"} 4)",
        R"(tonnage_inter_token_latency_seconds_bucket{model_name="toy",le="0.0025"} 4)",
        R"(tonnage_queue_seconds_count{model_name="toy"} 1)",
        R"(tonnage_prefill_seconds_count{model_name="toy"} 1)",
        R"(tonnage_decode_seconds_count{model_name="toy"} 1)",
        R"(tonnage_request_seconds_sum{model_name="toy"} 2)",
        R"(tonnage_prompt_tokens_total{model_name="toy"} 3)",
        R"(tonnage_requests_total{model_name="toy",outcome="length"} 1)",
        R"(tonnage_requests_total{model_name="toy",outcome="busy"} 1)",
        R"(tonnage_ledger_bytes{model_name="toy",owner="prefix_cache"} 77)",
        R"(tonnage_ledger_bytes{model_name="toy",owner="kv"} 0)",
        R"(tonnage_ledger_peak_bytes{model_name="toy"} 77)",
        R"(tonnage_budget_bytes{model_name="toy"} 500)",
        R"(tonnage_memory_pressure{model_name="toy"} 2)",
        R"(tonnage_buffers{model_name="toy",state="live"} 1)",
        R"(tonnage_buffers{model_name="toy",state="cached"} 2)",
        R"(tonnage_cached_bytes{model_name="toy"} 90)",
        R"(tonnage_buffers_peak{model_name="toy"} 4)",
        R"(tonnage_budget_buffers{model_name="toy"} 40)",
        R"(tonnage_requests_running{model_name="toy"} 1)",
        R"(vllm:num_requests_running{model_name="toy"} 1)",
        R"(vllm:num_requests_waiting{model_name="toy"} 0)",
        R"(vllm:kv_cache_usage_perc{)",
        R"(vllm:gpu_cache_usage_perc{)",
        R"(tonnage_slots{model_name="other"} 3)"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  // One heading for all models.
  const std::string heading = "# TYPE tonnage_slots gauge";
  EXPECT_EQ(text.find(heading), text.rfind(heading));
}

}  // namespace
}  // namespace tonnage
