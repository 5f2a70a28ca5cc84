// What tests of the protocol stand on: a toy model with a tokenizer of one token a byte, served by
// a dispatcher.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/testing.h"
#include "server/http/testing.h"
#include "server/openai/routes.h"

namespace tonnage::openai {

using http::FakeResponder;

class ToyDirectory final : public ModelDirectory {
 public:
  ToyDirectory(std::shared_ptr<const TextEngine> engine, Dispatcher* dispatcher)
      : engine_(std::move(engine)), dispatcher_(dispatcher) {}
  std::vector<ModelCard> List() const override {
    return {{.name = "org/toy",
             .architecture = "toy",
             .created_s = 1'700'000'000,
             .context_tokens = 2000,
             .slots = 4,
             .chats = true}};
  }
  Result<std::shared_ptr<const TextEngine>> Find(std::string_view name) const override {
    if (name != "org/toy") return Unreadable("no model \"{}\"; there is org/toy", name);
    return engine_;
  }
  void Load(std::string_view, std::function<void(Result<ModelUse>)> done) const override {
    if (load_error_) return done(*load_error_);
    done(ModelUse{engine_, dispatcher_});
  }
  void FailLoads(Error error) { load_error_ = std::move(error); }

 private:
  const std::shared_ptr<const TextEngine> engine_;
  Dispatcher* const dispatcher_;
  std::optional<Error> load_error_;
};

class ToyService {
 public:
  explicit ToyService(std::int64_t slots = 4, QueueLimits queue = {})
      : engine_(ToyModel({.vocab = 256, .context_tokens = 2000, .slots = slots, .queue = queue},
                         backend_)) {
    auto text = OpenModelText(TONNAGE_SOURCE_DIR "/tests/golden/tiny_chat");
    EXPECT_TRUE(text.ok()) << text.error().message();
    auto made = TextEngine::Make(engine_, std::move(*text), [] { return chat::LocalTime{}; });
    EXPECT_TRUE(made.ok()) << made.error().message();
    text_engine_ = std::move(*made);
    dispatcher_ = std::make_unique<Dispatcher>();
    models_ = std::make_shared<ToyDirectory>(text_engine_, dispatcher_.get());
    routes_ = Routes({.models = models_,
                      .version = "1.2.3",
                      .unix_s = [] { return 1'700'000'001; },
                      .random = [this] { return ++random_; },
                      .warn = [this](std::string_view text) { warnings_ += text; }});
  }

  std::shared_ptr<FakeResponder> Send(const std::string& method, const std::string& path,
                                      const std::string& body = {},
                                      std::shared_ptr<FakeResponder> client = nullptr) {
    if (client == nullptr) client = std::make_shared<FakeResponder>();
    for (const http::Route& route : routes_) {
      const bool below = route.path.ends_with("/*") &&
                         path.starts_with(route.path.substr(0, route.path.size() - 1));
      if (route.method != method || (route.path != path && !below)) continue;
      route.handler({.method = method, .path = path, .query = {}, .headers = {}, .body = body},
                    client);
      return client;
    }
    ADD_FAILURE() << "no route for " << path;
    return client;
  }
  std::shared_ptr<FakeResponder> Chat(const std::string& more) {
    return Send("POST", "/v1/chat/completions",
                R"({"model":"org/toy","messages":[{"role":"user","content":"Hi"}],)" + more + "}");
  }
  std::shared_ptr<FakeResponder> Complete(const std::string& more) {
    return Send("POST", "/v1/completions", R"({"model":"org/toy",)" + more + "}");
  }

  ToyBackend& backend() { return backend_; }
  Engine& engine() { return engine_; }
  const TextEngine& text_engine() const { return *text_engine_; }
  Dispatcher& dispatcher() { return *dispatcher_; }
  ToyDirectory& models() { return *models_; }
  const std::string& warnings() const { return warnings_; }

 private:
  ToyBackend backend_;
  Engine engine_;
  std::shared_ptr<const TextEngine> text_engine_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::shared_ptr<ToyDirectory> models_;
  std::vector<http::Route> routes_;
  std::uint64_t random_ = 0;
  std::string warnings_;
};

// The JSON of each event of a stream, without the "[DONE]"; `done` tells whether that came last.
inline std::vector<Json> Events(const std::string& stream, bool* done = nullptr) {
  std::vector<Json> events;
  if (done != nullptr) *done = false;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t end = stream.find("\n\n", at);
    EXPECT_NE(end, std::string::npos) << "the stream ends within an event";
    if (end == std::string::npos) break;
    const std::string_view event = std::string_view(stream).substr(at, end - at);
    at = end + 2;
    EXPECT_TRUE(event.starts_with("data: ")) << event;
    if (event == "data: [DONE]") {
      EXPECT_EQ(at, stream.size()) << "something after [DONE]";
      if (done != nullptr) *done = true;
      continue;
    }
    auto json = ParseJson(event.substr(6));
    EXPECT_TRUE(json.ok()) << event;
    if (json.ok()) events.push_back(std::move(*json));
  }
  return events;
}

}  // namespace tonnage::openai
