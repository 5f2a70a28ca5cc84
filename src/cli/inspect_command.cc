// inspect: what a model file holds. Reads headers only.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "chat/capabilities.h"
#include "checkpoint/store.h"
#include "cli/commands.h"
#include "kernels/matmul/matmul.h"
#include "models/open.h"
#include "service/text.h"

namespace tonnage::cli {
namespace {

double Bits(const WeightInfo& tensor) {
  const std::int64_t elements = tensor.shape.elements();
  return elements == 0 ? 0
                       : 8.0 * static_cast<double>(tensor.bytes()) / static_cast<double>(elements);
}

Json CapabilitiesJson(const chat::Capabilities& can) {
  return {{"system_role", can.system_role},         {"tools", can.tools},
          {"tool_calls", can.tool_calls},           {"tool_responses", can.tool_responses},
          {"content_parts", can.content_parts},     {"reasoning_content", can.reasoning_content},
          {"thinking_switch", can.thinking_switch}, {"generation_prompt", can.generation_prompt}};
}

// Where this machine would keep the tensors of each weight: the device, and the kernel in whose
// layout.
std::map<const WeightInfo*, std::string> Places(const OpenedModel& model) {
  const CpuFeatures features = CpuFeatures::Detect();
  std::map<const WeightInfo*, std::string> places;
  for (const WeightSource& source : model.sources) {
    const int rank = source.shape.rank();
    const std::string place =
        rank < 2 ? "cpu, f32"
                 : fmt::format("cpu, {}",
                               SelectMatmul(source.format, source.shape[rank - 2],
                                            source.shape[rank - 1], Precision::kFast, features)
                                   .name);
    for (const WeightPiece& piece : source.pieces) places[piece.tensor] = place;
  }
  return places;
}

Json TensorsJson(const OpenedModel& model) {
  const auto places = Places(model);
  const auto unused = UnusedTensors(model.checkpoint, model.sources);
  Json rows = Json::array();
  for (const WeightInfo& tensor : model.checkpoint.weights()) {
    Json shape = Json::array();
    for (int i = 0; i < tensor.shape.rank(); ++i) shape.push_back(tensor.shape[i]);
    const bool used = std::find(unused.begin(), unused.end(), &tensor) == unused.end();
    const auto place = places.find(&tensor);
    rows.push_back({{"name", tensor.name},
                    {"type", tensor.stored_as},
                    {"shape", shape},
                    {"bytes", tensor.bytes()},
                    {"bits_per_weight", Bits(tensor)},
                    {"lives", place != places.end() ? place->second
                              : used                ? "config"
                                                    : "nowhere"},
                    {"used", used}});
  }
  return rows;
}

// What is known about the text side; a template that cannot be parsed is reported, not fatal.
Json TextJson(const ModelText& text) {
  Json end_ids = Json::array();
  for (const TokenId id : text.end_ids) end_ids.push_back(id);
  Json json = {{"vocabulary", text.tokenizer->vocab_size()},
               {"bos_token", text.bos_token},
               {"eos_token", text.eos_token},
               {"end_ids", end_ids}};
  Json templates = Json::object();
  for (const auto& [name, source] : text.chat_templates) {
    auto parsed = chat::Template::Parse(source);
    templates[name] = parsed.ok() ? CapabilitiesJson(chat::DetectCapabilities(*parsed))
                                  : Json({{"error", parsed.error().message()}});
  }
  json["chat_templates"] = templates;
  return json;
}

void PrintText(const Json& text) {
  fmt::print("\nTokenizer: {} tokens, bos {}, eos {}, answers end at {}\n",
             text["vocabulary"].get<std::int64_t>(), DumpJson(text["bos_token"]),
             DumpJson(text["eos_token"]), DumpJson(text["end_ids"]));
  for (const auto& [name, can] : text["chat_templates"].items()) {
    if (can.contains("error")) {
      fmt::print("Chat template {}: unusable: {}\n", name, can["error"].get<std::string>());
      continue;
    }
    std::string yes;
    std::string no;
    for (const auto& [what, able] : can.items()) (able.get<bool>() ? yes : no) += " " + what;
    fmt::print("Chat template {}: can{}; cannot{}\n", name, yes.empty() ? " nothing" : yes,
               no.empty() ? " nothing" : no);
  }
  if (text["chat_templates"].empty())
    fmt::print("No chat template: `run --raw` goes on writing a prompt.\n");
}

void PrintModel(const OpenedModel& model, const Json& tensors) {
  const ModelInfo& info = model.model.info;
  fmt::print("{}: {} layers, hidden {}, vocabulary {}, trained for {} tokens\n", info.architecture,
             info.layers, info.hidden, FormatThousands(info.vocab),
             FormatThousands(info.context_limit));
  fmt::print("\nConfig\n");
  for (const auto& [key, value] : model.config.items()) {
    if (!value.is_structured() || value.size() <= 16)
      fmt::print("  {:28} {}\n", key, DumpJson(value));
  }
  fmt::print("\n{} tensors, {}\n", tensors.size(), FormatBytes(model.checkpoint.total_bytes()));
  for (const Json& row : tensors) {
    fmt::print("  {:52} {:26} {:18} {:5.2f} bits {:>10}{}\n", row["name"].get<std::string>(),
               row["type"].get<std::string>(), DumpJson(row["shape"]),
               row["bits_per_weight"].get<double>(), FormatBytes(row["bytes"].get<Bytes>()),
               row["used"].get<bool>() ? "  " + row["lives"].get<std::string>() : "  not read");
  }
}

Status Inspect(const std::string& name, bool json, const Environment& environment) {
  ASSIGN_OR_RETURN(const auto path, ModelStore(environment.home).Resolve(name));
  auto model = OpenModel(path.string());
  auto text = OpenModelText(path.string());
  if (!model.ok() && !text.ok()) return model.error();
  Json all = {{"path", path.string()}};
  if (model.ok()) {
    all["config"] = model->config;
    all["bytes"] = model->checkpoint.total_bytes();
    all["tensors"] = TensorsJson(*model);
  } else {
    all["model_error"] = model.error().message();
  }
  if (text.ok()) {
    all["text"] = TextJson(*text);
  } else {
    all["text_error"] = text.error().message();
  }
  if (json) {
    fmt::print("{}\n", DumpJson(all));
    return {};
  }
  fmt::print("{}\n", path.string());
  if (model.ok()) {
    PrintModel(*model, all["tensors"]);
  } else {
    fmt::print("No model to run: {}\n", model.error().message());
  }
  if (text.ok()) {
    PrintText(all["text"]);
  } else {
    fmt::print("\nNo tokenizer: {}\n", text.error().message());
  }
  return {};
}

}  // namespace

void DefineInspect(CLI::App& app, const Environment& environment, Action& action) {
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  app.add_option("MODEL", *name, "a name in the store, a folder, or a GGUF file")->required();
  app.add_flag("--json", *json, "one JSON object");
  app.callback([&, name, json] {
    action = [&environment, name, json] { return Inspect(*name, *json, environment); };
  });
}

}  // namespace tonnage::cli
