// Hostile templates stop with an error, within their bounds and quickly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "chat/template.h"

namespace tonnage::chat {
namespace {

using ::testing::HasSubstr;

constexpr RenderLimits kSmall = {
    .steps = 1'000'000, .memory_bytes = 8 * kMiB, .output_bytes = kMiB, .depth = 500};

std::string Fail(std::string_view source, const RenderLimits& limits = kSmall) {
  const auto start = std::chrono::steady_clock::now();
  const auto parsed = Template::Parse(source);
  std::string message = "it rendered";
  if (!parsed.ok()) {
    message = parsed.error().message();
  } else {
    const auto rendered = parsed->Render(Json::object(), {.now = {}, .limits = limits});
    if (!rendered.ok()) message = rendered.error().message();
  }
  // Generous, for sanitizers and busy machines: without bounds these would take hours.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << source;
  return message;
}

TEST(Limits, Steps) {
  EXPECT_THAT(
      Fail("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
      HasSubstr("steps"));
  EXPECT_THAT(Fail("{{ "
                   "range(99999)|map('string')|map('int')|map('string')|map('int')|map('string')|"
                   "list|length }}"
                   "{% for x in range(99999) %}{{ range(99999)|sum }}{% endfor %}"),
              ::testing::AnyOf(HasSubstr("steps"), HasSubstr("memory")));
  EXPECT_THAT(Fail("{% set s = 'a' * 1000000 %}{% for x in range(99999) %}{{ s|upper|lower|length "
                   "}}{% endfor %}"),
              ::testing::AnyOf(HasSubstr("steps"), HasSubstr("memory")));
}

TEST(Limits, Ranges) {
  EXPECT_THAT(Fail("{{ range(1000000000000) }}"), HasSubstr("range"));
  EXPECT_THAT(Fail("{{ range(-9223372036854775807, 9223372036854775807) }}"), HasSubstr("range"));
}

TEST(Limits, Text) {
  for (const std::string_view source :
       {"{{ 'a' * 1000000000 }}", "{{ 'ab' * 9223372036854775807 }}",
        "{{ 'a'.center(1000000000) }}", "{{ 'a'|center(9223372036854775807) }}",
        "{{ 'a'.ljust(1000000000000) }}", "{{ 'a'.zfill(1000000000) }}", "{{ '%1000000000d' % 1 }}",
        "{{ '%.1000000000f' % 1 }}", "{{ '%*d' % (1000000000, 1) }}",
        "{{ '{:1000000000}'.format(1) }}", "{{ '{:.1000000000f}'.format(1.5) }}",
        "{{ '{:>99999999999}'.format('') }}", "{{ 'a\nb'|indent(1000000000) }}",
        "{{ '\t'.expandtabs(1000000000) }}", "{{ [1]|tojson(indent=1000000000) }}",
        "{% for x in range(99999) %}{{ 'abcdefghijklmnopqrstuvwxyz' }}{% endfor %}"}) {
    EXPECT_THAT(Fail(source), ::testing::AnyOf(HasSubstr("of text"), HasSubstr("too large"),
                                               HasSubstr("malformed"), HasSubstr("memory")))
        << source;
  }
}

TEST(Limits, TextThatDoubles) {
  const std::string twice = "{% set ns.s = ns.s ~ ns.s %}";
  std::string source =
      "{% set ns = namespace(s='0123456789') %}{% for i in range(60) %}" + twice + "{% endfor %}";
  EXPECT_THAT(Fail(source), HasSubstr("of text"));
  source =
      "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% "
      "endfor %}";
  EXPECT_THAT(Fail(source), HasSubstr("memory"));
  // A list that holds itself twice, forty times over, is small until somebody looks at it.
  const std::string nested =
      "{% set ns = namespace(s=[]) %}{% for i in range(40) %}{% set ns.s = [ns.s, ns.s] %}{% "
      "endfor %}";
  for (const std::string use :
       {"{{ ns.s }}", "{{ ns.s|tojson }}", "{{ ns.s|pprint }}", "{{ ns.s|string|length }}"}) {
    EXPECT_THAT(Fail(nested + use), ::testing::AnyOf(HasSubstr("of text"), HasSubstr("steps")))
        << use;
  }
  const std::string other =
      "{% set no = namespace(s=[]) %}{% for i in range(40) %}{% set no.s = [no.s, no.s] %}{% "
      "endfor %}";
  EXPECT_THAT(Fail(nested + other + "{{ ns.s == no.s }}"), HasSubstr("steps"));
  EXPECT_THAT(Fail("{% set ns = namespace(s=()) %}{% for i in range(40) %}{% set ns.s = (ns.s, "
                   "ns.s) %}{% endfor %}{{ {ns.s: 1} }}"),
              HasSubstr("steps"));
}

TEST(Limits, Memory) {
  EXPECT_THAT(Fail("{{ [1] * 1000000000 }}"), HasSubstr("memory"));
  EXPECT_THAT(Fail("{{ [1, 2] * 9223372036854775807 }}"), HasSubstr("memory"));
  EXPECT_THAT(Fail("{{ [1]|batch(1000000000, 0)|list }}"),
              ::testing::AnyOf(HasSubstr("memory"), HasSubstr("steps")));
  EXPECT_THAT(Fail("{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = ns.l + "
                   "[i] %}{% endfor %}"),
              ::testing::AnyOf(HasSubstr("memory"), HasSubstr("steps")));
}

TEST(Limits, Depth) {
  EXPECT_THAT(Fail("{% macro r() %}{{ r() }}{% endmacro %}{{ r() }}"), HasSubstr("levels"));
  EXPECT_THAT(Fail("{% for x in [[]] recursive %}{{ loop([[]]) }}{% endfor %}"),
              HasSubstr("levels"));
  EXPECT_THAT(Fail("{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] "
                   "%}{% endfor %}{{ ns.l }}"),
              HasSubstr("levels"));
  EXPECT_THAT(Fail("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}"),
              HasSubstr("levels"));
}

TEST(Limits, TheDefaultDepthFitsTheStack) {
  for (const std::string_view source :
       {"{% macro r() %}{% if true %}{{ [[r() ~ 1]] }}{% endif %}{% endmacro %}{{ r() }}",
        "{% for x in [[]] recursive %}{{ (loop([[]]) | upper) ~ 'x' }}{% endfor %}",
        "{% macro r() %}{% call r() %}x{% endcall %}{{ caller }}{% endmacro %}{{ r() }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}"
        "{% endfor %}{{ ns.l == ns.l[:] }}{{ ns.l | tojson }}"}) {
    EXPECT_THAT(Fail(source, RenderLimits{}), HasSubstr("levels")) << source;
  }
}

TEST(Limits, DeepSources) {
  auto repeat = [](std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  for (const std::string& source :
       {"{{ " + repeat("(", 100000) + repeat(")", 100000) + " }}",
        "{{ " + repeat("[", 100000) + repeat("]", 100000) + " }}",
        "{{ " + repeat("not ", 100000) + "x }}", "{{ " + repeat("-", 100000) + "1 }}",
        "{{ x" + repeat(".a", 100000) + " }}", "{{ x" + repeat("|upper", 100000) + " }}",
        "{{ 1" + repeat(" + 1", 100000) + " }}", "{{ 1" + repeat(" ** 1", 100000) + " }}",
        "{{ x" + repeat(" if x else x", 100000) + " }}", "{{ x" + repeat("()", 100000) + " }}",
        "{{ " + repeat("{1:", 100000) + repeat("}", 100000) + " }}", repeat("{% if x %}", 100000),
        repeat("{% for x in y %}", 100000), repeat("{% macro m() %}", 100000),
        "{% set " + repeat("(", 100000) + "x" + repeat(")", 100000) + " = 1 %}"}) {
    EXPECT_THAT(Fail(source), HasSubstr("nested deeper")) << source.substr(0, 40);
  }
}

TEST(Limits, LongSourcesAreRefusedAndWideOnesAreNot) {
  EXPECT_THAT(Fail(std::string(4 << 20, 'x')), HasSubstr("more than"));
  std::string wide = "{{ 1";
  for (int i = 0; i < 20000; ++i) wide += " ~ 1";
  EXPECT_EQ(Fail(wide + " }}"), "it rendered");
}

}  // namespace
}  // namespace tonnage::chat
