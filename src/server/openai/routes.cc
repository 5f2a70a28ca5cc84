#include "server/openai/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "server/openai/answer.h"
#include "server/openai/call.h"
#include "server/openai/errors.h"

namespace tonnage::openai {
namespace {

constexpr std::string_view kModels = "/v1/models";

void WarnOfUnknown(const Context& context, const Call& call) {
  constexpr std::size_t kMost = 10;  // a client may send thousands
  const auto& fields = call.unknown_fields;
  if (fields.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < std::min(fields.size(), kMost); ++i) {
    list += fmt::format("{}{}", i > 0 ? ", " : "", DumpJson(fields[i].substr(0, 100)));
  }
  if (fields.size() > kMost) list += fmt::format(" and {} more", fields.size() - kMost);
  context.warn("openai: unknown fields pass unheeded: " + list);
}

// What only the model can tell of a call.
Status CheckAgainst(const TextEngine& engine, const Call& call) {
  for (const TemplateField& field : call.template_fields) {
    const auto heeds = [&](const std::string& name) { return engine.TemplateMentions(name); };
    if (std::any_of(field.variables.begin(), field.variables.end(), heeds)) continue;
    return Unsupported("`{}` is not supported by this model: its chat template does not read it",
                       field.name)
        .About(field.name);
  }
  return {};
}

// A model's file that cannot be read any more is no fault of the request's.
Error OfTheServer(const Error& error) {
  const Code code = error.code();
  const bool fits = code == Code::kRefused || code == Code::kBusy || code == Code::kInternal;
  return fits ? error : Error(Code::kUnavailable, error.message());
}

void Serve(const Context& context, Call::Kind kind, const http::Request& request,
           std::shared_ptr<http::Responder> responder) {
  const bool chat = kind == Call::Kind::kChat;
  Result<Call> call = chat ? ParseChat(request.body) : ParseCompletion(request.body);
  if (!call.ok()) return responder->Reply(ErrorResponse(call.error()));
  WarnOfUnknown(context, *call);
  auto engine = context.models->Find(call->model);
  if (!engine.ok()) return responder->Reply(ModelNotFound(engine.error()));
  if (const Status fits = CheckAgainst(**engine, *call); !fits.ok()) {
    return responder->Reply(ErrorResponse(fits.error()));
  }
  const std::string name = call->model;
  const std::uint64_t high = context.random(), low = context.random();
  Envelope envelope{.id = fmt::format("{}-{:016x}{:016x}", chat ? "chatcmpl" : "cmpl", high, low),
                    .created_s = context.unix_s(),
                    .model = call->model,
                    .fingerprint = "tonnage-" + context.version};
  const auto waiting = std::make_shared<Call>(std::move(*call));  // a function must be copyable
  context.models->Load(name, [waiting, envelope = std::move(envelope), engine = std::move(*engine),
                              responder = std::move(responder)](Result<ModelUse> use) {
    if (responder->gone()) return;
    if (!use.ok()) {
      return responder->Reply(ErrorResponse(OfTheServer(use.error()), engine->engine()));
    }
    std::make_shared<Answer>(std::move(*waiting), envelope, std::move(use->engine), responder)
        ->Submit(*use->dispatcher);
  });
}

Json ModelJson(const ModelCard& card) {
  return {{"id", card.name},
          {"object", "model"},
          {"created", card.created_s},
          {"owned_by", "tonnage"},
          {"context_length", card.context_tokens}};
}

http::Response JsonReply(const Json& json) {
  return {.status = 200, .content_type = "application/json", .body = DumpJson(json), .headers = {}};
}

http::Response ListModels(const ModelDirectory& models) {
  Json data = Json::array();
  for (const ModelCard& card : models.List()) data.push_back(ModelJson(card));
  return JsonReply({{"object", "list"}, {"data", std::move(data)}});
}

http::Response ShowModel(const ModelDirectory& models, const std::string& path) {
  const std::string_view name = std::string_view(path).substr(kModels.size() + 1);
  for (const ModelCard& card : models.List()) {
    if (card.name == name) return JsonReply(ModelJson(card));
  }
  return ModelNotFound(models.Find(name).error());
}

}  // namespace

std::vector<http::Route> Routes(const Context& context) {
  const auto serve = [context](Call::Kind kind) -> http::Handler {
    return
        [context, kind](const http::Request& request, std::shared_ptr<http::Responder> responder) {
          Serve(context, kind, request, std::move(responder));
        };
  };
  return {
      {"POST", "/v1/chat/completions", serve(Call::Kind::kChat)},
      {"POST", "/v1/completions", serve(Call::Kind::kCompletion)},
      {"GET", std::string(kModels),
       [context](const http::Request&, const std::shared_ptr<http::Responder>& responder) {
         responder->Reply(ListModels(*context.models));
       }},
      {"GET", fmt::format("{}/*", kModels),
       [context](const http::Request& request, const std::shared_ptr<http::Responder>& responder) {
         responder->Reply(ShowModel(*context.models, request.path));
       }},
  };
}

}  // namespace tonnage::openai
