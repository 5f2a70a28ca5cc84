// render: a chat template applied to variables, a JSON value a line.
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "base/json.h"
#include "chat/local_time.h"
#include "chat/template.h"
#include "checkpoint/store.h"
#include "cli/commands.h"
#include "service/text.h"

namespace tonnage::cli {
namespace {

struct RenderCommandOptions {
  std::string model;
  std::string now;
};

// The template's source: a .jinja file itself, or the model's default one.
Result<std::string> ReadTemplate(const std::string& model, const Environment& environment) {
  ASSIGN_OR_RETURN(const auto path, ModelStore(environment.home).Resolve(model));
  if (path.extension() == ".jinja") {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Unreadable("{}: cannot be opened", path.string());
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  ASSIGN_OR_RETURN(const ModelText text, OpenModelText(path.string()));
  const std::string* source = text.ChatTemplate();
  if (source == nullptr) return Unreadable("{} has no chat template", path.string());
  return *source;
}

Json RenderLine(const Result<chat::Template>& parsed, const std::string& line,
                const chat::RenderOptions& options) {
  if (!parsed.ok()) return {{"error", parsed.error().message()}};
  const auto variables = ParseJson(line);
  if (!variables.ok()) return {{"error", variables.error().message()}};
  const auto rendered = parsed->Render(*variables, options);
  if (!rendered.ok()) return {{"error", rendered.error().message()}};
  return {{"rendered", *rendered}};
}

Status Render(const RenderCommandOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(const std::string source, ReadTemplate(options.model, environment));
  chat::RenderOptions render;
  render.now = chat::CurrentLocalTime();
  if (!options.now.empty()) {
    ASSIGN_OR_RETURN(render.now, chat::ParseLocalTime(options.now));
  }
  const auto parsed = chat::Template::Parse(source);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << DumpJson(RenderLine(parsed, line, render)) << std::endl;
  }
  return {};
}

}  // namespace

void DefineRender(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<RenderCommandOptions>();
  app.add_option("MODEL", options->model, "a model, whose template is used, or a FILE.jinja")
      ->required();
  app.add_option(
      "--now", options->now,
      "the time that the template sees, such as 2026-11-29T16:20 (default: this machine's)");
  app.footer(
      "In: an object with every variable (messages, tools, bos_token, ...) a line.\n"
      "Out: {\"rendered\": \"...\"} or {\"error\": \"...\"} a line.");
  app.callback(
      [&, options] { action = [&environment, options] { return Render(*options, environment); }; });
}

}  // namespace tonnage::cli
