// Any JSON as a template's variables, through templates that take it apart in every way.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "chat/template.h"

using tonnage::Json;
using tonnage::chat::RenderOptions;
using tonnage::chat::Template;

namespace {

constexpr std::string_view kSources[] = {
    "{% for m in messages %}<{{ m.role }}>{{ m.content | trim if m.content is string else "
    "m.content | tojson }}"
    "{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson(indent=2) "
    "}}{% endfor %}{% endfor %}",
    "{% for k, v in x | dictsort %}{{ k }}={{ v }}{{ v | pprint }}{% endfor %}",
    "{% for v in x recursive %}{{ loop.index }}{{ loop.changed(v) }}{{ loop(v) if v is iterable "
    "and v is not string else v }}{% endfor %}",
    "{{ x }}{{ x | string | title | wordwrap(7) | indent(2) | truncate(50) }}{{ x | "
    "tojson(sort_keys=true, ensure_ascii=true) }}",
    "{{ x | sort }}",
    "{{ x | unique | list }}",
    "{{ x | map(attribute='a') | list }}",
    "{{ x | groupby('a') }}",
    "{{ x | sum }}{{ x | max }}",
    "{{ x + x }}{{ x * 3 }}",
    "{{ x % x }}",
    "{{ x // y }}{{ x ** y }}",
    "{{ x < y }}{{ x == y }}{{ x in y }}",
    "{{ x[y] }}{{ x[y:] }}{{ x[::y] }}",
    "{{ x.split(y) }}{{ x.replace(y, 'é') }}{{ x.format(y, a=x) }}",
    "{{ x | format(y) }}",
    "{{ x | int }}{{ x | float }}{{ x | round(y) }}",
    "{{ x | batch(y, 0) | list }}{{ x | slice(y) | list }}",
    "{{ dict(x) }}{{ namespace(x).a }}",
    "{{ range(x, y) | list }}",
    "{{ x | e }}{{ x | striptags }}{{ x | urlencode }}{{ x | xmlattr }}",
    "{{ x.title() }}{{ x.upper() }}{{ x.strip(y) }}{{ x.center(y) }}",
    "{{ x | filesizeformat }}",
    "{{ {x: y} }}",
    "{{ strftime_now(x) }}",
    "{% set a, b = x %}{{ a }}{{ b }}",
    "{{ '%s %d %5.1f' % (x, y, x) }}",
};

const std::vector<Template>& Templates() {
  static const std::vector<Template>& templates = *[] {
    auto* parsed = new std::vector<Template>;
    for (const std::string_view source : kSources) {
      auto one = Template::Parse(source);
      CHECK(one.ok()) << source;
      parsed->push_back(std::move(*one));
    }
    return parsed;
  }();
  return templates;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto variables = tonnage::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!variables.ok()) return 0;
  // What is no object of variables stands as one of them.
  if (!variables->is_object())
    *variables = Json{{"x", *variables}, {"y", variables->size()}, {"messages", *variables}};
  RenderOptions options;
  options.limits = {
      .steps = 20'000, .memory_bytes = 4 << 20, .output_bytes = 1 << 18, .depth = 200};
  for (const Template& one : Templates()) {
    const auto rendered = one.Render(*variables, options);
    if (rendered.ok())
      CHECK_LE(rendered->size(), static_cast<std::size_t>(options.limits.output_bytes));
  }
  return 0;
}
