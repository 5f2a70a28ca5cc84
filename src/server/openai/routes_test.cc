#include "server/openai/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "server/openai/testing.h"

namespace tonnage::openai {
namespace {

using testing::HasSubstr;

Json Body(FakeResponder& client) {
  const std::string body = client.WaitForEnd().body;
  auto json = ParseJson(body);
  EXPECT_TRUE(json.ok()) << body;
  return json.ok() ? std::move(*json) : Json();
}

// The answer's end tokens never come, so that lengths are known.
constexpr const char* kGreedy = R"("temperature":0,"ignore_eos":true)";
std::string Greedy(const std::string& more) { return more + "," + kGreedy; }

std::string ToyText(ToyService& service, std::string prompt, std::int64_t max_tokens) {
  auto generation = service.text_engine().Start({.prompt = std::move(prompt),
                                                 .sampling = {.temperature = 0},
                                                 .max_tokens = max_tokens,
                                                 .ignore_end = true});
  std::string text;
  while (auto event = generation->Next()) {
    if (auto* delta = std::get_if<TextDelta>(&*event)) text += delta->text;
  }
  return text;
}
constexpr const char* kChatPrompt = "<s>user: Hi\nassistant:";
// A template writes its own special tokens, and so the prompt is the same tokens either way.

TEST(OpenAiRoutes, ChatAnswersWhole) {
  ToyService service;
  auto client = service.Chat(Greedy(R"("max_tokens":20,"novelty":1)"));
  const Json body = Body(*client);
  EXPECT_EQ(client->so_far().status, 200);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["id"], "chatcmpl-00000000000000010000000000000002");
  EXPECT_EQ(body["created"], 1'700'000'001);
  EXPECT_EQ(body["model"], "org/toy");
  EXPECT_EQ(body["system_fingerprint"], "tonnage-1.2.3");
  ASSERT_EQ(body["choices"].size(), 1u);
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], ToyText(service, kChatPrompt, 20));
  EXPECT_TRUE(choice["logprobs"].is_null());
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 20);
  EXPECT_EQ(body["usage"]["completion_tokens"], 20);
  EXPECT_EQ(body["usage"]["total_tokens"], 40);
  EXPECT_THAT(service.warnings(), HasSubstr("\"novelty\""));
}

TEST(OpenAiRoutes, ChatStreamsTheSameAnswer) {
  ToyService service;
  auto client = service.Chat(
      Greedy(R"("max_tokens":40,"n":2,"stream":true,"stream_options":{"include_usage":true})"));
  client->WaitForEnd();
  EXPECT_THAT(client->so_far().content_type, HasSubstr("text/event-stream"));
  bool done = false;
  const std::vector<Json> events = Events(client->so_far().body, &done);
  EXPECT_TRUE(done);
  ASSERT_GE(events.size(), 6u);
  std::map<int, std::string> texts, reasons;
  std::map<int, int> opened;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Json& event = events[i];
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_EQ(event["id"], events[0]["id"]);
    EXPECT_TRUE(event.contains("usage") && event["usage"].is_null());
    ASSERT_EQ(event["choices"].size(), 1u);
    const Json& choice = event["choices"][0];
    const int index = choice["index"].get<int>();
    const Json& delta = choice["delta"];
    if (delta.contains("role")) ++opened[index];
    EXPECT_EQ(opened[index], 1) << "the role comes first, once";
    EXPECT_FALSE(reasons.contains(index)) << "something after the end";
    if (delta.contains("content")) texts[index] += delta["content"].get<std::string>();
    if (!choice["finish_reason"].is_null()) {
      reasons[index] = choice["finish_reason"].get<std::string>();
    }
  }
  const std::string expected = ToyText(service, kChatPrompt, 40);
  for (int index : {0, 1}) {
    EXPECT_EQ(texts[index], expected);
    EXPECT_EQ(reasons[index], "length");
  }
  EXPECT_TRUE(events.back()["choices"].empty());
  EXPECT_EQ(events.back()["usage"]["prompt_tokens"], 20);
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 80);
}

TEST(OpenAiRoutes, AStreamHasNoUsageUnlessAskedFor) {
  ToyService service;
  auto client = service.Chat(Greedy(R"("max_tokens":3,"stream":true)"));
  client->WaitForEnd();
  EXPECT_EQ(client->so_far().body.find("usage"), std::string::npos);
}

TEST(OpenAiRoutes, LogprobsAreOfEveryToken) {
  ToyService service;
  const Json body =
      Body(*service.Chat(Greedy(R"("max_tokens":30,"logprobs":true,"top_logprobs":3)")));
  const Json& content = body["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 30u);
  for (const Json& token : content) {
    EXPECT_EQ(token["top_logprobs"].size(), 3u);
    EXPECT_EQ(token["top_logprobs"][0]["token"], token["token"]) << "greedy takes the likeliest";
    EXPECT_LE(token["logprob"].get<double>(), 0);
    EXPECT_GE(token["bytes"].size(), 1u);
  }
  const Json none = Body(*service.Chat(Greedy(R"("max_tokens":3,"logprobs":true)")));
  EXPECT_TRUE(none["choices"][0]["logprobs"]["content"][0]["top_logprobs"].empty());
}

TEST(OpenAiRoutes, StreamedLogprobsAreTheSame) {
  ToyService service;
  const std::string fields = Greedy(R"("max_tokens":30,"logprobs":true,"top_logprobs":2)");
  const Json whole = Body(*service.Chat(fields));
  auto client = service.Chat(fields + R"(,"stream":true)");
  client->WaitForEnd();
  Json content = Json::array();
  for (const Json& event : Events(client->so_far().body)) {
    const Json& logprobs = event["choices"][0]["logprobs"];
    if (!logprobs.is_null()) {
      for (const Json& token : logprobs["content"]) content.push_back(token);
    }
  }
  EXPECT_EQ(content, whole["choices"][0]["logprobs"]["content"]);
}

TEST(OpenAiRoutes, CompletionsOfSeveralPromptsAreInOrder) {
  ToyService service;
  const Json body = Body(*service.Complete(
      Greedy(R"("prompt":["One",[70,71,72]],"n":2,"max_tokens":12,"echo":true)")));
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_THAT(body["id"].get<std::string>(), testing::StartsWith("cmpl-"));
  ASSERT_EQ(body["choices"].size(), 4u);
  const std::string ids_text = service.text_engine()
                                   .text()
                                   .tokenizer->Decode(std::vector<TokenId>{70, 71, 72}, false)
                                   .value();
  for (int i = 0; i < 4; ++i) {
    const std::string prompt = i < 2 ? "One" : ids_text;
    const Json& choice = body["choices"][static_cast<std::size_t>(i)];
    EXPECT_EQ(choice["index"], i);
    EXPECT_EQ(choice["text"], prompt + ToyText(service, prompt, 12));
    EXPECT_EQ(choice["finish_reason"], "length");
  }
  EXPECT_EQ(body["usage"]["prompt_tokens"], 6);
  EXPECT_EQ(body["usage"]["completion_tokens"], 48);
}

TEST(OpenAiRoutes, CompletionsStreamTheSame) {
  ToyService service;
  auto client = service.Complete(
      Greedy(R"("prompt":["One","Two"],"max_tokens":12,"echo":true,"stream":true)"));
  client->WaitForEnd();
  std::map<int, std::string> texts;
  bool done = false;
  for (const Json& event : Events(client->so_far().body, &done)) {
    const Json& choice = event["choices"][0];
    texts[choice["index"].get<int>()] += choice["text"].get<std::string>();
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(texts[0], "One" + ToyText(service, "One", 12));
  EXPECT_EQ(texts[1], "Two" + ToyText(service, "Two", 12));
}

TEST(OpenAiRoutes, CompletionLogprobsAreColumns) {
  ToyService service;
  const Json body =
      Body(*service.Complete(Greedy(R"("prompt":"Say","max_tokens":16,"logprobs":2)")));
  const Json& logprobs = body["choices"][0]["logprobs"];
  for (const char* column : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
    EXPECT_EQ(logprobs[column].size(), 16u) << column;
  }
  EXPECT_EQ(logprobs["text_offset"][0], 0);
  EXPECT_GE(logprobs["top_logprobs"][0].size(), 2u);
}

TEST(OpenAiRoutes, TheBestOfSeveralAreTheLikeliest) {
  ToyService service;
  const std::string fields = R"("prompt":"Say","max_tokens":8,"seed":5,"ignore_eos":true,)";
  const Json all = Body(*service.Complete(fields + R"("n":4,"logprobs":0)"));
  const Json best = Body(*service.Complete(fields + R"("n":1,"best_of":4)"));
  std::string likeliest;
  double highest = -1e9;
  for (const Json& choice : all["choices"]) {
    double sum = 0;
    for (const Json& logprob : choice["logprobs"]["token_logprobs"]) sum += logprob.get<double>();
    if (sum > highest) {
      highest = sum;
      likeliest = choice["text"].get<std::string>();
    }
  }
  ASSERT_EQ(best["choices"].size(), 1u);
  EXPECT_EQ(best["choices"][0]["text"], likeliest);
  EXPECT_TRUE(best["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(best["usage"]["completion_tokens"], 32) << "what was computed counts";
}

TEST(OpenAiRoutes, ASeedRepeatsAndItsChoicesDiffer) {
  ToyService service;
  const std::string fields = R"("max_tokens":20,"seed":7,"n":2,"ignore_eos":true)";
  const Json one = Body(*service.Chat(fields));
  const Json two = Body(*service.Chat(fields));
  EXPECT_EQ(one["choices"], two["choices"]);
  EXPECT_NE(one["choices"][0]["message"], one["choices"][1]["message"]);
}

TEST(OpenAiRoutes, StopStringsEndAnAnswer) {
  ToyService service;
  const std::string text = ToyText(service, kChatPrompt, 60);
  std::size_t at = text.size() / 2;
  while ((text[at] & 0x80) != 0 || (text[at + 1] & 0x80) != 0) ++at;
  const std::string stop = text.substr(at, 2);
  const Json body =
      Body(*service.Chat(Greedy(R"("max_tokens":60,"stop":)" + DumpJson(Json::array({stop})))));
  EXPECT_EQ(body["choices"][0]["message"]["content"], text.substr(0, text.find(stop)));
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
}

TEST(OpenAiRoutes, ErrorsHaveAStatusAndName) {
  ToyService service;
  struct Case {
    std::shared_ptr<FakeResponder> client;
    int status;
    const char* code;
    const char* param;  // nullptr: null
  };
  const Case cases[] = {
      {service.Chat(R"("n":0)"), 400, "invalid_value", "n"},
      {service.Chat(R"("tools":[{}])"), 400, "unsupported_parameter", "tools"},
      {service.Chat(R"("max_tokens":5000)"), 400, "context_length_exceeded", "messages"},
      {service.Chat(R"("logit_bias":{"999":1})"), 400, "invalid_value", "logit_bias"},
      {service.Chat(R"("reasoning_effort":"low")"), 400, "unsupported_parameter",
       "reasoning_effort"},
      {service.Complete(R"("prompt":["a",[999]])"), 400, "invalid_value", "prompt[1]"},
      {service.Complete(R"("prompt":")" + std::string(3000, 'a') + R"(","stream":true)"), 400,
       "context_length_exceeded", "prompt"},
      {service.Send("POST", "/v1/completions", R"({"model":"other","prompt":"x"})"), 404,
       "model_not_found", "model"},
      {service.Send("POST", "/v1/completions", "{"), 400, "invalid_value", nullptr},
  };
  for (const Case& one : cases) {
    const Json error = Body(*one.client)["error"];
    EXPECT_EQ(one.client->so_far().status, one.status) << error;
    EXPECT_EQ(error["code"], one.code) << error;
    EXPECT_EQ(error["param"], one.param == nullptr ? Json() : Json(one.param)) << error;
  }
  const Json error = Body(*service.Chat(R"("max_tokens":5000)"))["error"];
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("exceed the context of 2,000"));
}

TEST(OpenAiRoutes, AFullQueueIsTooManyRequests) {
  ToyService service(1, {.requests = 1, .tokens = 1000});
  service.backend().control().Hold();
  std::vector<std::shared_ptr<FakeResponder>> held;
  std::shared_ptr<FakeResponder> refused;
  for (int i = 0; i < 8; ++i) held.push_back(service.Chat(Greedy(R"("max_tokens":5)")));
  for (int tries = 0; refused == nullptr && tries < 10'000; ++tries) {
    for (const auto& client : held) {
      if (client->ended()) refused = client;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->so_far().status, 429);
  ASSERT_EQ(refused->so_far().headers.size(), 1u);
  EXPECT_EQ(refused->so_far().headers[0].first, "Retry-After");
  EXPECT_GE(std::stoi(refused->so_far().headers[0].second), 1);
  service.backend().control().Resume();
  for (const auto& client : held) client->WaitForEnd();
}

TEST(OpenAiRoutes, AClientThatGoesFreesItsSlot) {
  ToyService service(2);
  service.backend().control().Allow(40);
  auto client = service.Chat(Greedy(R"("max_tokens":1500,"stream":true)"));
  client->WaitForWrites(1);
  client->Leave();
  service.backend().control().Resume();
  for (int i = 0; i < 10'000 && service.engine().status().free_slots < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(service.engine().status().free_slots, 2);
  EXPECT_FALSE(client->ended()) << "nobody is there to hear the end";
}

TEST(OpenAiRoutes, ASlowClientIsNotSentMoreThanItTakes) {
  ToyService service;
  auto client = std::make_shared<FakeResponder>();
  client->Read(false);
  service.Send("POST", "/v1/completions",
               R"({"model":"org/toy","prompt":"x","n":4,"max_tokens":1900,"stream":true,)"
               R"("logprobs":20,)" +
                   std::string(kGreedy) + "}",
               client);
  for (int i = 0; i < 10'000 && client->so_far().body.size() < 256 << 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(client->so_far().body.size(), (256u << 10) + 10'000);
  EXPECT_FALSE(client->ended());
  client->Read(true);
  client->WaitForEnd();
  bool done = false;
  Events(client->so_far().body, &done);
  EXPECT_TRUE(done);
}

TEST(OpenAiRoutes, AFaultInMidStreamIsItsOneEnd) {
  ToyService service;
  service.backend().control().Allow(40);
  auto client = service.Chat(Greedy(R"("max_tokens":100,"stream":true,"n":2)"));
  client->WaitForWrites(1);
  service.backend().control().FailNextStep();
  service.backend().control().Resume();
  client->WaitForEnd();
  bool done = true;
  const std::vector<Json> events = Events(client->so_far().body, &done);
  EXPECT_FALSE(done);
  for (std::size_t i = 0; i + 1 < events.size(); ++i) EXPECT_FALSE(events[i].contains("error"));
  EXPECT_EQ(events.back()["error"]["type"], "server_error");
}

TEST(OpenAiRoutes, AFaultBeforeAWholeAnswerIsItsStatus) {
  ToyService service;
  service.backend().control().Allow(10);
  auto client = service.Chat(Greedy(R"("max_tokens":100)"));
  service.backend().control().FailNextStep();
  service.backend().control().Resume();
  EXPECT_EQ(Body(*client)["error"]["code"], "service_unavailable");
  EXPECT_EQ(client->so_far().status, 503);
}

TEST(OpenAiRoutes, AModelThatCannotBeLoadedSaysWhyAndWhenToTryAgain) {
  ToyService service;
  const auto ask = [&](Error why) {
    service.models().FailLoads(std::move(why));
    const http::Response response = service.Chat(Greedy(R"("max_tokens":5)"))->WaitForEnd();
    EXPECT_THAT(response.body, HasSubstr("because"));
    const bool retry =
        std::any_of(response.headers.begin(), response.headers.end(),
                    [](const auto& header) { return header.first == "Retry-After"; });
    return std::pair(response.status, retry);
  };
  EXPECT_EQ(ask(Unavailable("because it died")), std::pair(503, true));
  EXPECT_EQ(ask(Unreadable("because its file is gone")), std::pair(503, true));
  EXPECT_EQ(ask(Busy("because many wait")), std::pair(429, true));
  EXPECT_EQ(ask(Error(Code::kRefused, "because it is large")), std::pair(507, false));
}

TEST(OpenAiRoutes, ModelsAreListedAndShown) {
  ToyService service;
  const Json list = Body(*service.Send("GET", "/v1/models"));
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 1u);
  EXPECT_EQ(list["data"][0]["id"], "org/toy");
  EXPECT_EQ(list["data"][0]["object"], "model");
  EXPECT_EQ(list["data"][0]["created"], 1'700'000'000);
  EXPECT_EQ(Body(*service.Send("GET", "/v1/models/org/toy")), list["data"][0]);
  auto missing = service.Send("GET", "/v1/models/other");
  EXPECT_EQ(Body(*missing)["error"]["code"], "model_not_found");
  EXPECT_EQ(missing->so_far().status, 404);
}

}  // namespace
}  // namespace tonnage::openai
