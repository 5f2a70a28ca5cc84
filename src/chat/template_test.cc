#include "chat/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace tonnage::chat {
namespace {

using ::testing::HasSubstr;

RenderOptions Evening() {
  RenderOptions options;
  options.now = {.year = 2026, .month = 11, .day = 29, .hour = 16, .minute = 20};
  return options;
}

// The rendering, or "error: " and the message.
std::string Render(std::string_view source, const Json& variables = Json::object(),
                   const RenderOptions& options = Evening()) {
  const auto parsed = Template::Parse(source);
  if (!parsed.ok()) return "error: " + parsed.error().message();
  const auto rendered = parsed->Render(variables, options);
  return rendered.ok() ? *rendered : "error: " + rendered.error().message();
}

TEST(Template, RendersAConversation) {
  const Json variables = {
      {"messages",
       {{{"role", "system"}, {"content", "Be terse."}}, {{"role", "user"}, {"content", " Hi "}}}},
      {"add_generation_prompt", true}};
  EXPECT_EQ(Render("{% for m in messages %}\n"
                   "  {%- if loop.first %}<s>{% endif %}[{{ m.role }}]{{ m['content'] | trim }}\n"
                   "{% endfor %}\n"
                   "{% if add_generation_prompt %}[assistant]{% endif %}",
                   variables),
            "<s>[system]Be terse.\n[user]Hi\n[assistant]");
}

TEST(Template, ErrorsCarryLineAndColumn) {
  EXPECT_EQ(Render("a\n {{ x.y }}"), "error: line 2, column 7: 'x' is undefined");
  EXPECT_EQ(
      Render("a\n{% if x %}"),
      "error: line 2, column 11: the template ends where 'elif' or 'else' or 'endif' was expected");
  EXPECT_THAT(Render("{{ 'a' "), HasSubstr("line 1, column 1: this tag has no end"));
  EXPECT_THAT(Render("\n\n{{ 1 + }}"),
              HasSubstr("line 3, column 8: expected an expression, got }}"));
}

TEST(Template, RefusesOtherTemplatesByName) {
  for (const std::string tag :
       {"include 'a'", "import 'a' as b", "from 'a' import b", "extends 'a'", "block a"}) {
    EXPECT_THAT(Render("{% " + tag + " %}"),
                HasSubstr("'" + tag.substr(0, tag.find(' ')) + "' is not supported"));
  }
}

TEST(Template, TimeIsWhatTheOptionsSay) {
  EXPECT_EQ(Render("{{ strftime_now('%d %b %Y, %H:%M %A %j %f') }}"),
            "29 Nov 2026, 16:20 Sunday 333 000000");
}

TEST(Template, RaisedExceptionsAreTheError) {
  EXPECT_EQ(Render("{{ raise_exception('no ' ~ 'system') }}"),
            "error: line 1, column 19: no system");
}

TEST(Template, TheSandboxDoesNotLetValuesChange) {
  EXPECT_THAT(Render("{% set x = [1] %}{{ x.append(2) }}"),
              HasSubstr("access to attribute 'append' of 'list' object is unsafe."));
  EXPECT_EQ(Render("{{ [].append is defined }}{{ ''.__class__ }}"), "False");
}

TEST(Template, KnowsWhatItMentions) {
  const auto parsed = Template::Parse("{% if enable_thinking %}<think>{% endif %}");
  EXPECT_TRUE(parsed->Mentions("enable_thinking"));
  EXPECT_FALSE(parsed->Mentions("reasoning_effort"));
}

TEST(Template, VariablesMustBeAnObject) {
  EXPECT_EQ(Render("x", Json::array()), "error: a template's variables are a JSON object");
}

TEST(Template, ConcurrentRenderingsShareATemplate) {
  const auto parsed =
      Template::Parse("{% for i in range(n) %}{{ 'x' ~ i ~ 'ü'|upper }}{% endfor %}");
  ASSERT_TRUE(parsed.ok());
  std::vector<std::thread> threads;
  std::vector<std::string> results(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) results[i] = *parsed->Render({{"n", 3}}, Evening());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, "x0Üx1Üx2Ü");
}

}  // namespace
}  // namespace tonnage::chat
