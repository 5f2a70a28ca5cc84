#include "chat/capabilities.h"

#include <gtest/gtest.h>

namespace tonnage::chat {
namespace {

Capabilities Detect(std::string_view source) {
  const auto parsed = Template::Parse(source);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message();
  return DetectCapabilities(*parsed);
}

TEST(Capabilities, APlainTemplateShowsContentAlone) {
  const Capabilities found =
      Detect("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}");
  EXPECT_TRUE(found.system_role);
  EXPECT_FALSE(found.tools);
  EXPECT_FALSE(found.tool_calls);
  EXPECT_TRUE(found.tool_responses);
  EXPECT_FALSE(found.content_parts);  // printed as a list, but not understood
  EXPECT_FALSE(found.reasoning_content);
  EXPECT_FALSE(found.thinking_switch);
  EXPECT_FALSE(found.generation_prompt);
}

TEST(Capabilities, ATemplateThatRefusesSystemMessagesHasNoSystemRole) {
  EXPECT_FALSE(Detect("{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
                      "{% for m in messages %}{{ m.content }}{% endfor %}")
                   .system_role);
  EXPECT_FALSE(Detect("{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}")
                   .system_role);
}

TEST(Capabilities, AFullTemplateHasThemAll) {
  const Capabilities found = Detect(
      "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}"
      "{% for m in messages %}"
      "{% if m.content is string %}{{ m.content }}{% else %}"
      "{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}"
      "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
      "{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments | tojson "
      "}}){% endfor %}"
      "{% endfor %}"
      "{% if add_generation_prompt %}>{% if enable_thinking is false %}no thoughts{% endif %}{% "
      "endif %}");
  EXPECT_TRUE(found.system_role);
  EXPECT_TRUE(found.tools);
  EXPECT_TRUE(found.tool_calls);
  EXPECT_TRUE(found.tool_responses);
  EXPECT_TRUE(found.content_parts);
  EXPECT_TRUE(found.reasoning_content);
  EXPECT_TRUE(found.thinking_switch);
  EXPECT_TRUE(found.generation_prompt);
}

TEST(Capabilities, CallsWithArgumentsAsTextCountToo) {
  EXPECT_TRUE(Detect("{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.name + "
                     "c.function.arguments }}"
                     "{% endfor %}{% endfor %}")
                  .tool_calls);
}

TEST(Capabilities, AHostileTemplateHasNone) {
  const Capabilities found =
      Detect("{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}");
  EXPECT_FALSE(found.system_role || found.tools || found.generation_prompt);
}

}  // namespace
}  // namespace tonnage::chat
