#include "engine/plan_json.h"

#include <algorithm>
#include <string>

namespace tonnage {
namespace {

Json SettingsJson(const ServingSettings& settings) {
  return {{"context_tokens", settings.context_tokens},
          {"slots", settings.slots},
          {"kv_dtype", KvTypeName(settings.kv_dtype)}};
}

Json RowJson(const LoadPlan& plan) {
  Json row = SettingsJson(plan.settings);
  for (int term = 0; term < kOwnerCount; ++term) {
    std::string key(OwnerName(static_cast<Owner>(term)));
    std::ranges::replace(key, ' ', '_');
    row[key + "_bytes"] = plan.quote.Of(static_cast<Owner>(term));
  }
  row["total_bytes"] = plan.quote.Total();
  row["buffers"] = plan.quote.buffers;
  row["fits"] = !plan.refusal.has_value();
  if (!plan.refusal) return row;
  row["tightest"] = plan.refusal->TooManyBuffers() ? "buffers" : OwnerName(*plan.refusal->tightest);
  row["nearest"] = Json::array();
  for (const ServingSettings& settings : plan.refusal->nearest) {
    row["nearest"].push_back(SettingsJson(settings));
  }
  row["message"] = plan.refusal->Message();
  return row;
}

}  // namespace

Json PlanJson(std::string_view model, const Available& available, std::span<const LoadPlan> plans) {
  Json rows = Json::array();
  for (const LoadPlan& plan : plans) rows.push_back(RowJson(plan));
  return {{"model", model},
          {"budget_bytes", available.bytes},
          {"budget_source", available.source},
          {"budget_buffers", available.buffers},
          {"buffers_source", available.buffers_source},
          {"plans", std::move(rows)}};
}

}  // namespace tonnage
