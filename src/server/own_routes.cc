#include "server/own_routes.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "server/openai/common_fields.h"
#include "server/openai/errors.h"

namespace tonnage {
namespace {

constexpr std::string_view kModelField = "model";

using Respond = std::function<Result<Json>(const Json& body)>;

http::Response JsonReply(const Json& json, int status = 200) {
  return {.status = status, .content_type = "application/json", .body = DumpJson(json)};
}

http::Response ReplyOf(const Result<Json>& result) {
  if (result.ok()) return JsonReply(*result);
  const Error& error = result.error();
  const bool no_model = error.code() == Code::kUnreadable && error.field() == kModelField;
  return no_model ? openai::ModelNotFound(error) : openai::ErrorResponse(error);
}

Result<Json> RespondTo(std::string_view text, const Respond& respond) {
  if (text.empty()) return respond(Json::object());
  ASSIGN_OR_RETURN(const Json body, openai::ParseBody(text));
  return respond(body);
}

// A route whose body is a JSON object, or nothing, and whose work is a side job.
http::Route Job(const OwnContext& context, std::string path, Respond respond) {
  return {"POST", std::move(path),
          [jobs = context.jobs, respond = std::move(respond)](
              http::Request request, std::shared_ptr<http::Responder> responder) {
            const Status posted =
                jobs->Post([request = std::move(request), responder, respond]() -> void {
                  if (responder->gone()) return;
                  responder->Reply(ReplyOf(RespondTo(request.body, respond)));
                });
            if (posted.ok()) return;
            http::Response busy = openai::ErrorResponse(posted.error());
            busy.headers.emplace_back("Retry-After", "1");
            responder->Reply(std::move(busy));
          }};
}

// Fields that are not known would pass unheeded; here they are refused.
Status CheckFields(const Json& body, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : body.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return InvalidArgument("the field `{}` is not known here", key.substr(0, 100)).About(key);
    }
  }
  return {};
}

// What the body names, else the first.
Result<std::string> ModelName(const ModelDirectory& models, const Json& body) {
  ASSIGN_OR_RETURN(std::string name, JsonString(body, kModelField, ""));
  return name.empty() ? models.List().front().name : name;
}

Result<std::shared_ptr<const TextEngine>> FindModel(const ModelDirectory& models,
                                                    const Json& body) {
  ASSIGN_OR_RETURN(const std::string name, ModelName(models, body));
  return models.Find(name);
}

Result<Json> Tokenize(const ModelDirectory& models, const Json& body) {
  RETURN_IF_ERROR(CheckFields(body, {"model", "content", "prompt", "add_special"}));
  ASSIGN_OR_RETURN(const auto engine, FindModel(models, body));
  ASSIGN_OR_RETURN(const bool add_special, JsonBool(body, "add_special", false));
  const std::string_view field = JsonFind(body, "prompt") != nullptr ? "prompt" : "content";
  if (JsonFind(body, field) == nullptr)
    return InvalidArgument("`content` is missing").About("content");
  ASSIGN_OR_RETURN(const std::string text, JsonString(body, field, ""));
  ASSIGN_OR_RETURN(const auto ids, engine->text().tokenizer->Encode(text, add_special));
  return Json{{"tokens", ids},
              {"count", ids.size()},
              {"max_model_len", engine->engine().cache().context_tokens}};
}

Result<Json> Detokenize(const ModelDirectory& models, const Json& body) {
  RETURN_IF_ERROR(CheckFields(body, {"model", "tokens", "skip_special"}));
  ASSIGN_OR_RETURN(const auto engine, FindModel(models, body));
  ASSIGN_OR_RETURN(const bool skip_special, JsonBool(body, "skip_special", false));
  const Json* tokens = JsonFind(body, "tokens");
  if (tokens == nullptr) return InvalidArgument("`tokens` is missing").About("tokens");
  ASSIGN_OR_RETURN(const auto ids, IdsFromJson(*tokens));
  ASSIGN_OR_RETURN(std::string text, engine->text().tokenizer->Decode(ids, skip_special));
  return Json{{"content", std::move(text)}};
}

Result<Json> ApplyTemplate(const ModelDirectory& models, const Json& body) {
  ASSIGN_OR_RETURN(const auto engine, FindModel(models, body));
  const Json* messages = JsonFind(body, "messages");
  if (messages == nullptr || !messages->is_array()) {
    return InvalidArgument("`messages` must be an array").About("messages");
  }
  Json variables = body;  // tools, documents, add_generation_prompt, ...
  variables.erase("model");
  variables.erase("messages");
  ASSIGN_OR_RETURN(std::string prompt, engine->Render(*messages, variables));
  return Json{{"prompt", std::move(prompt)}};
}

Result<PlanQuery> ParsePlanQuery(const Json& body) {
  RETURN_IF_ERROR(CheckFields(body, {"model", "context_tokens", "slots", "kv_dtype"}));
  PlanQuery query;
  if (JsonFind(body, "context_tokens") != nullptr) {
    ASSIGN_OR_RETURN(query.context_tokens, JsonInt(body, "context_tokens", 0));
  }
  if (JsonFind(body, "slots") != nullptr) {
    ASSIGN_OR_RETURN(query.slots, JsonInt(body, "slots", 0));
  }
  if (JsonFind(body, "kv_dtype") != nullptr) {
    ASSIGN_OR_RETURN(query.kv_dtype, JsonString(body, "kv_dtype", ""));
  }
  return query;
}

Result<Json> Plan(const OwnContext& context, const Json& body) {
  ASSIGN_OR_RETURN(const PlanQuery query, ParsePlanQuery(body));
  RETURN_IF_ERROR(FindModel(*context.models, body));
  ASSIGN_OR_RETURN(const std::string name, ModelName(*context.models, body));
  return context.plan(name, query);
}

// "context_tokens=8192&slots=4" as the body of a POST would have it. No name or value of a plan
// needs an escape.
Json BodyOfQuery(std::string_view query) {
  Json body = Json::object();
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    body[std::string(pair.substr(0, equals))] = whole ? Json(number) : Json(value);
  }
  return body;
}

// Of the model that the query names, else of all of them.
Result<Json> Ready(const OwnContext& context, const Json& query) {
  RETURN_IF_ERROR(CheckFields(query, {kModelField}));
  if (context.draining()) return Unavailable("the server is shutting down");
  ASSIGN_OR_RETURN(const std::string wanted, JsonString(query, kModelField, ""));
  if (!wanted.empty()) RETURN_IF_ERROR(context.models->Find(wanted));
  std::int64_t running = 0, waiting = 0, free_slots = 0;
  const TextEngine* before = nullptr;  // names of one model follow each other
  for (const ModelCard& card : context.models->List()) {
    ASSIGN_OR_RETURN(const auto engine, context.models->Find(card.name));
    if ((!wanted.empty() && card.name != wanted) || engine.get() == before) continue;
    before = engine.get();
    const EngineStatus status = engine->engine().status();
    const Status alive = CheckHeartbeat(status, Clock::now(), context.heartbeat);
    if (!alive.ok()) return alive.error().In(card.name);
    running += status.running;
    waiting += status.waiting;
    free_slots += status.free_slots;
  }
  return Json{
      {"status", "ready"}, {"running", running}, {"waiting", waiting}, {"free_slots", free_slots}};
}

http::Route Get(std::string path, std::function<http::Response(const http::Request&)> reply) {
  return {"GET", std::move(path),
          [reply = std::move(reply)](const http::Request& request,
                                     const std::shared_ptr<http::Responder>& responder) {
            responder->Reply(reply(request));
          }};
}

}  // namespace

Status CheckHeartbeat(const EngineStatus& status, Clock::time_point now,
                      std::chrono::milliseconds heartbeat) {
  RETURN_IF_ERROR(status.health);
  const auto silent = now - status.stepped_at;
  if (status.running + status.waiting == 0 || silent < heartbeat) return {};
  return Unavailable("the engine has {} requests and has not stepped for {} s",
                     status.running + status.waiting,
                     std::chrono::duration_cast<std::chrono::seconds>(silent).count());
}

std::vector<http::Route> OwnRoutes(const OwnContext& context) {
  const http::Route plan =
      Job(context, "/plan", [context](const Json& body) { return Plan(context, body); });
  const auto models = context.models;
  return {
      Get("/health",
          [](const http::Request&) {
            return JsonReply({{"status", "ok"}});
          }),
      Get("/ready",
          [context](const http::Request& request) {
            return ReplyOf(Ready(context, BodyOfQuery(request.query)));
          }),
      Get("/metrics",
          [metrics = context.metrics](const http::Request&) {
            return http::Response{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                                  .body = Metrics::Scrape(metrics)};
          }),
      {"GET", "/plan",
       [handler = plan.handler](http::Request request, std::shared_ptr<http::Responder> responder) {
         request.body = DumpJson(BodyOfQuery(request.query));
         handler(std::move(request), std::move(responder));
       }},
      plan,
      Job(context, "/tokenize", [models](const Json& body) { return Tokenize(*models, body); }),
      Job(context, "/detokenize", [models](const Json& body) { return Detokenize(*models, body); }),
      Job(context, "/apply-template",
          [models](const Json& body) { return ApplyTemplate(*models, body); }),
  };
}

std::vector<std::string> ProbePaths() { return {"/health", "/ready", "/metrics"}; }

}  // namespace tonnage
