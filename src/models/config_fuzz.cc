// Any config.json gives a model whose graph is sound, or an error. The corpus is JSON text.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "graph/buffer_plan.h"
#include "graph/rewrite.h"
#include "graph/validate.h"
#include "models/model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace tonnage;
  const auto config = ParseJson({reinterpret_cast<const char*>(data), size});
  if (!config.ok()) return 0;
  const Result<Model> model = BuildModel(*config);
  if (!model.ok()) return 0;
  const Graph optimized = Optimize(model->graph);
  for (const Graph* graph : {&model->graph, &optimized}) {
    const Status valid = Validate(*graph, model->cache);
    CHECK(valid.ok()) << valid.error().message();
  }
  if (optimized.nodes.size() < 1000) {
    CHECK_GT(PlanBuffers(optimized, {.rows = 3, .logit_rows = 1}).arena_bytes, 0);
  }
  return 0;
}
