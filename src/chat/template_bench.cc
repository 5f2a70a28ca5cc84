// Renders long conversations. Reported: messages a second, and text a second.
#include <benchmark/benchmark.h>

#include "chat/template.h"

namespace tonnage::chat {
namespace {

constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// What tool-calling templates do: look back for the last question, take reasoning apart, print
// calls as JSON.
constexpr std::string_view kTools = R"(
{%- if tools %}{{- '<|im_start|>system\n# Tools\n' }}{% for tool in tools %}{{ tool | tojson }}
{% endfor %}{{- '<|im_end|>\n' }}{% endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
  {%- set index = (messages|length - 1) - loop.index0 %}
  {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>')) %}
    {%- set ns.multi_step_tool = false %}{% set ns.last_query_index = index %}
  {%- endif %}
{%- endfor %}
{%- for message in messages %}
  {%- set content = message.content if message.content is string else '' %}
  {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
    {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
  {%- elif message.role == "assistant" %}
    {%- set reasoning = '' %}
    {%- if '</think>' in content %}
      {%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
      {%- set content = content.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\n' + ('<think>' + reasoning if loop.index0 > ns.last_query_index else '') + content }}
    {%- for call in message.tool_calls or [] %}{{- '<tool_call>' }}{{ call.function.arguments | tojson }}{{ '</tool_call>' }}{% endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif message.role == "tool" %}
    {{- '<tool_response>\n' ~ content ~ '\n</tool_response>' }}
  {%- endif %}
{%- endfor %})";

Json Conversation(int count) {
  const std::string text(400, 'x');
  Json messages = Json::array();
  for (int i = 0; i < count; ++i) {
    Json message = {
        {"role", i % 4 == 3 ? "tool"
                 : i % 2    ? "assistant"
                            : "user"},
        {"content", (i % 2 ? "<think>\nhm\n</think>\n\n" : "") + text + std::to_string(i)}};
    if (i % 4 == 1) {
      const Json function = {{"name", "get_weather"},
                             {"arguments", {{"city", "Tōkyō"}, {"days", 3}}}};
      message["tool_calls"] = Json::array({{{"type", "function"}, {"function", function}}});
    }
    messages.push_back(std::move(message));
  }
  return {{"messages", messages}, {"tools", nullptr}, {"add_generation_prompt", true}};
}

void Render(benchmark::State& state, std::string_view source) {
  const auto parsed = Template::Parse(source);
  const Json variables = Conversation(static_cast<int>(state.range(0)));
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto rendered = parsed->Render(variables, {});
    if (!rendered.ok()) state.SkipWithError(rendered.error().message().c_str());
    bytes = rendered.ok() ? rendered->size() : 0;
    benchmark::DoNotOptimize(rendered);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void BM_ChatMl(benchmark::State& state) { Render(state, kChatMl); }
BENCHMARK(BM_ChatMl)->Arg(200)->Arg(2000)->Unit(benchmark::kMicrosecond);

void BM_Tools(benchmark::State& state) { Render(state, kTools); }
BENCHMARK(BM_Tools)->Arg(200)->Arg(2000)->Unit(benchmark::kMicrosecond);

void BM_Parse(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Template::Parse(kTools));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kTools.size()));
}
BENCHMARK(BM_Parse)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tonnage::chat
