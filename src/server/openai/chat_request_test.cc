#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/openai/call.h"

namespace tonnage::openai {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A body with the fields that every chat request needs, and `more` ("\"n\":2").
std::string Body(const std::string& more = {}) {
  return R"({"model":"m","messages":[{"role":"user","content":"Hi"}])" +
         (more.empty() ? "" : "," + more) + "}";
}
std::string WithMessages(const std::string& messages) {
  return R"({"model":"m","messages":)" + messages + "}";
}

struct Case {
  std::string body;
  const char* param = nullptr;  // the error's; nullptr: accepted
};

void Check(const Case& one) {
  const auto call = ParseChat(one.body);
  if (one.param == nullptr) {
    EXPECT_TRUE(call.ok()) << one.body << "\n" << call.error().message();
    return;
  }
  ASSERT_FALSE(call.ok()) << one.body;
  EXPECT_EQ(call.error().field(), one.param) << one.body << "\n" << call.error().message();
  EXPECT_EQ(HttpStatus(call.error().code()), 400) << one.body;
  EXPECT_FALSE(call.error().message().empty());
  EXPECT_LT(call.error().message().size(), 600u) << one.body;
}

TEST(ChatRequest, EveryFieldOfSamplingIsAcceptedOrNamed) {
  const Case cases[] = {
      {Body()},
      {"", ""},
      {"[]", ""},
      {"nonsense", ""},
      {"{\"model\":\"m\",", ""},
      {"{}", "model"},
      {R"({"model":"m"})", "messages"},
      {R"({"model":7,"messages":[{"role":"user","content":"Hi"}]})", "model"},
      {Body(R"("n":3)")},
      {Body(R"("n":0)"), "n"},
      {Body(R"("n":129)"), "n"},
      {Body(R"("n":1.5)"), "n"},
      {Body(R"("n":"2")"), "n"},
      {Body(R"("n":null)")},
      {Body(R"("temperature":2)")},
      {Body(R"("temperature":2.01)"), "temperature"},
      {Body(R"("temperature":-0.1)"), "temperature"},
      {Body(R"("temperature":true)"), "temperature"},
      {Body(R"("temperature":1e400)"), ""},
      {Body(R"("top_p":0.5)")},
      {Body(R"("top_p":1.5)"), "top_p"},
      {Body(R"("presence_penalty":-2)")},
      {Body(R"("presence_penalty":2.5)"), "presence_penalty"},
      {Body(R"("frequency_penalty":-2.5)"), "frequency_penalty"},
      {Body(R"("top_k":40)")},
      {Body(R"("top_k":-1)")},
      {Body(R"("top_k":-2)"), "top_k"},
      {Body(R"("min_p":0.05)")},
      {Body(R"("min_p":2)"), "min_p"},
      {Body(R"("typical_p":0)")},
      {Body(R"("repetition_penalty":1.1)")},
      {Body(R"("repetition_penalty":0)"), "repetition_penalty"},
      {Body(R"("repeat_last_n":64)")},
      {Body(R"("repeat_last_n":-2)"), "repeat_last_n"},
      {Body(R"("ignore_eos":true)")},
      {Body(R"("ignore_eos":1)"), "ignore_eos"},
      {Body(R"("seed":-5)")},
      {Body(R"("seed":18446744073709551615)")},
      {Body(R"("seed":18446744073709551616)"), "seed"},
      {Body(R"("seed":"x")"), "seed"},
      {Body(R"("max_tokens":5)")},
      {Body(R"("max_tokens":0)"), "max_tokens"},
      {Body(R"("max_tokens":-1)"), "max_tokens"},
      {Body(R"("max_tokens":1e30)"), "max_tokens"},
      {Body(R"("max_completion_tokens":5)")},
      {Body(R"("max_completion_tokens":5,"max_tokens":5)")},
      {Body(R"("max_completion_tokens":5,"max_tokens":6)"), "max_tokens"},
      {Body(R"("stop":"x")")},
      {Body(R"("stop":["x","y"])")},
      {Body(R"("stop":[])")},
      {Body(R"("stop":"")"), "stop"},
      {Body(R"("stop":[1])"), "stop[0]"},
      {Body(R"("stop":5)"), "stop"},
      {Body(R"("logit_bias":{"5":-100,"6":1.5})")},
      {Body(R"("logit_bias":{"five":1})"), "logit_bias"},
      {Body(R"("logit_bias":{"-5":1})"), "logit_bias"},
      {Body(R"("logit_bias":{"99999999999":1})"), "logit_bias"},
      {Body(R"("logit_bias":{"5":101})"), "logit_bias.5"},
      {Body(R"("logit_bias":[1])"), "logit_bias"},
      {Body(R"("logprobs":true,"top_logprobs":20)")},
      {Body(R"("logprobs":true,"top_logprobs":21)"), "top_logprobs"},
      {Body(R"("logprobs":3)"), "logprobs"},
      {Body(R"("top_logprobs":2)"), "top_logprobs"},
  };
  for (const Case& one : cases) Check(one);
}

TEST(ChatRequest, EveryOtherFieldIsAcceptedOrNamed) {
  const Case cases[] = {
      {Body(R"("stream":true,"stream_options":{"include_usage":true})")},
      {Body(R"("stream":"yes")"), "stream"},
      {Body(R"("stream_options":{"include_usage":true})"), "stream_options"},
      {Body(R"("stream":true,"stream_options":{"include_usage":1})"),
       "stream_options.include_usage"},
      {Body(R"("stream":true,"stream_options":{"include_obfuscation":true})"),
       "stream_options.include_obfuscation"},
      {Body(R"("response_format":{"type":"text"})")},
      {Body(R"("response_format":{"type":"json_object"})"), "response_format"},
      {Body(R"("response_format":{"type":"json_schema","json_schema":{}})"), "response_format"},
      {Body(R"("response_format":{})"), "response_format.type"},
      {Body(R"("response_format":"text")"), "response_format"},
      {Body(R"("tools":[])")},
      {Body(R"("tools":[{"type":"function","function":{"name":"f"}}])"), "tools"},
      {Body(R"("tool_choice":"none")")},
      {Body(R"("tool_choice":"required")"), "tool_choice"},
      {Body(R"("parallel_tool_calls":false)")},
      {Body(R"("parallel_tool_calls":7)"), "parallel_tool_calls"},
      {Body(R"("functions":[{"name":"f"}])"), "functions"},
      {Body(R"("function_call":{"name":"f"})"), "function_call"},
      {Body(R"("modalities":["text"])")},
      {Body(R"("modalities":["text","audio"])"), "modalities"},
      {Body(R"("audio":{"voice":"x"})"), "audio"},
      {Body(R"("prediction":{"type":"content"})"), "prediction"},
      {Body(R"("store":false,"user":"u","metadata":{"a":"b"},"service_tier":"auto")")},
      {Body(R"("store":true)"), "store"},
      {Body(R"("service_tier":"flex")"), "service_tier"},
      {Body(R"("web_search_options":{})"), "web_search_options"},
      {Body(R"("verbosity":"low")"), "verbosity"},
      {Body(R"("guided_json":{"type":"object"})"), "guided_json"},
      {Body(R"("min_tokens":0,"best_of":1,"use_beam_search":false,"length_penalty":1.0)")},
      {Body(R"("min_tokens":5)"), "min_tokens"},
      {Body(R"("chat_template":"x")"), "chat_template"},
      {Body(R"("chat_template_kwargs":{"enable_thinking":false})")},
      {Body(R"("chat_template_kwargs":[])"), "chat_template_kwargs"},
      {Body(R"("chat_template_kwargs":{"messages":[]})"), "chat_template_kwargs.messages"},
      {Body(R"("reasoning_effort":"low")")},
      {Body(R"("reasoning_effort":"enormous")"), "reasoning_effort"},
      {Body(R"("documents":[{"text":"x"}])")},
      {Body(R"("documents":{})"), "documents"},
      {Body(R"("add_generation_prompt":false)")},
  };
  for (const Case& one : cases) Check(one);
}

TEST(ChatRequest, EveryMessageIsAcceptedOrNamed) {
  const Case cases[] = {
      {WithMessages("[]"), "messages"},
      {WithMessages("{}"), "messages"},
      {WithMessages("[7]"), "messages[0]"},
      {WithMessages(R"([{"content":"x"}])"), "messages[0].role"},
      {WithMessages(R"([{"role":"wizard","content":"x"}])"), "messages[0].role"},
      {WithMessages(R"([{"role":"function","name":"f","content":"x"}])"), "messages[0].role"},
      {WithMessages(R"([{"role":"user"}])"), "messages[0].content"},
      {WithMessages(R"([{"role":"user","content":null}])"), "messages[0].content"},
      {WithMessages(R"([{"role":"user","content":7}])"), "messages[0].content"},
      {WithMessages(R"([{"role":"user","content":[]}])"), "messages[0].content"},
      {WithMessages(
           R"([{"role":"user","content":"x"},{"role":"user","content":[{"type":"text"}]}])"),
       "messages[1].content[0].text"},
      {WithMessages(
           R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])"),
       "messages[0].content[0]"},
      {WithMessages(R"([{"role":"user","content":[{"type":"refusal","refusal":"no"}]}])"),
       "messages[0].content[0]"},
      {WithMessages(R"([{"role":"tool","content":"x"}])"), "messages[0].tool_call_id"},
      {WithMessages(R"([{"role":"user","content":"x","name":5}])"), "messages[0].name"},
      {WithMessages(R"([{"role":"assistant"}])"), "messages[0].content"},
      {WithMessages(R"([{"role":"assistant","tool_calls":[{"id":"1","type":"custom"}]}])"),
       "messages[0].tool_calls[0].type"},
      {WithMessages(R"([{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]}])"),
       "messages[0].tool_calls[0].function.arguments"},
      {WithMessages(R"([{"role":"assistant","content":"x","audio":{"id":"y"}}])"),
       "messages[0].audio"},
  };
  for (const Case& one : cases) Check(one);
}

TEST(ChatRequest, FieldsArriveWhereTheyBelong) {
  const auto good = ParseChat(Body(
      R"("n":2,"temperature":0.5,"top_p":0.9,"top_k":-1,"min_p":0.1,"presence_penalty":1,
         "frequency_penalty":-1,"repetition_penalty":1.5,"repeat_last_n":8,"seed":-1,
         "logit_bias":{"7":-3},"stop":"end","max_completion_tokens":9,"logprobs":true,
         "top_logprobs":4,"stream":true,"stream_options":{"include_usage":true,"new":1},
         "ignore_eos":true,"reasoning_effort":"none","frobnicate":{"x":1})"));
  ASSERT_TRUE(good.ok()) << good.error().message();
  EXPECT_EQ(good->model, "m");
  EXPECT_EQ(good->choices, 2);
  EXPECT_EQ(good->candidates, 2);
  EXPECT_TRUE(good->stream && good->include_usage && good->logprobs);
  EXPECT_THAT(good->unknown_fields, ElementsAre("stream_options.new", "frobnicate"));
  ASSERT_EQ(good->prompts.size(), 1u);
  const TextRequest& request = good->prompts[0];
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.min_p, 0.1);
  EXPECT_EQ(request.sampling.presence_penalty, 1);
  EXPECT_EQ(request.sampling.frequency_penalty, -1);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5);
  EXPECT_EQ(request.sampling.repeat_last_n, 8);
  EXPECT_EQ(request.sampling.seed, UINT64_MAX);
  ASSERT_EQ(request.sampling.logit_bias.size(), 1u);
  EXPECT_EQ(request.sampling.logit_bias[0].token, 7);
  EXPECT_EQ(request.sampling.logit_bias[0].bias, -3);
  EXPECT_THAT(request.stop, ElementsAre("end"));
  EXPECT_EQ(request.max_tokens, 9);
  EXPECT_EQ(request.logprobs, 4);
  EXPECT_TRUE(request.ignore_end);
  EXPECT_EQ(request.template_variables["enable_thinking"], false);
  EXPECT_TRUE(good->template_fields.empty()) << "every model can do without reasoning";
}

TEST(ChatRequest, WhatIsLeftOutIsOpenAisDefault) {
  const auto call = ParseChat(Body());
  ASSERT_TRUE(call.ok());
  const TextRequest& request = call->prompts[0];
  EXPECT_EQ(request.sampling.temperature, 1);
  EXPECT_EQ(request.sampling.top_p, 1);
  EXPECT_FALSE(request.sampling.seed || request.max_tokens || request.logprobs);
  EXPECT_FALSE(call->stream || call->logprobs || call->echo);
}

TEST(ChatRequest, ExplicitTemplateVariablesStandBeforeTheEffort) {
  const auto call = ParseChat(Body(
      R"("reasoning_effort":"high","chat_template_kwargs":{"enable_thinking":false,"k":[1]})"));
  ASSERT_TRUE(call.ok());
  const Json& variables = call->prompts[0].template_variables;
  EXPECT_EQ(variables["enable_thinking"], false);
  EXPECT_EQ(variables["reasoning_effort"], "high");
  EXPECT_EQ(variables["k"], Json::array({1}));
  ASSERT_EQ(call->template_fields.size(), 1u);
  EXPECT_EQ(call->template_fields[0].name, "reasoning_effort");
}

TEST(ChatRequest, ConversationsBecomeWhatTemplatesRead) {
  const auto call = ParseChat(WithMessages(R"([
      {"role":"developer","content":"Be brief."},
      {"role":"user","name":"ann","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
      {"role":"assistant","content":null,"reasoning_content":"hm","shape":1,
       "tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}},
                     {"id":"c2","type":"function","function":{"name":"g","arguments":"not json"}}]},
      {"role":"tool","tool_call_id":"c1","content":"7"},
      {"role":"assistant","content":null,"refusal":"I will not."}])"));
  ASSERT_TRUE(call.ok()) << call.error().message();
  const Json expected = *ParseJson(R"([
      {"role":"system","content":"Be brief."},
      {"role":"user","content":"a\nb","name":"ann"},
      {"role":"assistant",
       "tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":{"x":1}}},
                     {"id":"c2","type":"function","function":{"name":"g","arguments":"not json"}}],
       "reasoning_content":"hm","content":""},
      {"role":"tool","content":"7","tool_call_id":"c1"},
      {"role":"assistant","content":"I will not."}])");
  EXPECT_EQ(call->prompts[0].messages, expected);
  EXPECT_THAT(call->unknown_fields, ElementsAre("messages[2].shape"));
}

TEST(ChatRequest, HostileBodiesAreRefusedQuickly) {
  const std::string deep(100'000, '[');
  Check({Body("\"x\":" + deep), ""});
  Check({WithMessages(deep), ""});
  std::string many = "[0";
  for (int i = 0; i < 1'100'000; ++i) many += ",0";
  Check({Body("\"x\":" + many + "]"), ""});
  Check({"{\"model\":\"\xff\"}", ""});
  Check({R"({"model":"\ud800"})", ""});
  Check({Body("\"n\":" + std::string(100'000, '9')), ""});
  Check({Body("\"stop\":\"" + std::string(100'000, 'a') + "\""), "stop"});
  Check({Body("\"temperature\":\"" + std::string(100'000, 'a') + "\""), "temperature"});
}

}  // namespace
}  // namespace tonnage::openai
