// The composition root: parses the command line, runs one command, and turns its result into an
// exit code.
#include <clocale>
#include <cstdio>
#include <string>

#include "base/exhaustion.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/process.h"

namespace tonnage::cli {
namespace {

constexpr std::string_view kPeople = "For people";
constexpr std::string_view kInside =
    "For looking inside (one JSON value a line in, one a line out)";

constexpr std::string_view kHidden = "";  // for our own processes, and in no --help

constexpr Command kCommands[] = {
    {"run", kPeople, "one answer, or a chat", DefineRun},
    {"serve", kPeople, "serve models over HTTP, in OpenAI's protocol", DefineServe},
    {"plan", kPeople, "what a load would take, and whether it fits; loads nothing", DefinePlan},
    {"pull", kPeople, "fetch a model into the store, from the catalog or from a hub", DefinePull},
    {"list", kPeople, "the models in the store", DefineList},
    {"rm", kPeople, "remove a model from the store", DefineRm},
    {"inspect", kPeople, "what a model file holds: config, tensors, tokenizer, template",
     DefineInspect},
    {"quantize", kPeople, "write a model in another format", DefineQuantize},
    {"bench", kPeople, "measure how fast a model is, beside how fast it could be", DefineBench},
    {"eval", kPeople, "measure how well a model predicts a text", DefineEval},
    {"version", kPeople, "print the version and what this processor offers", DefineVersion},
    {"tokenize", kInside, "text to token ids", DefineTokenize},
    {"detokenize", kInside, "token ids to text", DefineDetokenize},
    {"render", kInside, "a chat template applied to variables", DefineRender},
    {"logits", kInside, "the model's logits for token ids, written to a file", DefineLogits},
    {"runner", kHidden, "runs one model for a server", DefineRunner},
};

constexpr const char* kFooter =
    "MODEL is a name in the model store, a folder with a checkpoint, or a GGUF file.\n"
    "\n"
    "Start here:\n"
    "  tonnage pull smollm2           fetch a small model (92 MB)\n"
    "  tonnage run smollm2            chat with it\n"
    "  tonnage run smollm2 \"Why is the sky blue?\"\n"
    "  tonnage plan smollm2           what it would take, before anything is loaded\n"
    "  tonnage pull org/name          fetch a model of a Hugging Face hub\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused by the quote, 4 model or file not "
    "readable,\n"
    "5 busy or unavailable, 130 interrupted.\n"
    "Models live in TONNAGE_HOME (by default tonnage/ in your data directory). "
    "TONNAGE_MEMORY_LIMIT lowers the memory\n"
    "that a load may take, as --memory-limit does, and TONNAGE_BUFFER_LIMIT the buffers.";

Status Run(int argc, char** argv, int& usage_exit_code) {
  const Environment environment = Environment::FromProcess();
  CLI::App app("Tonnage weighs a language model before it loads it, and what it accepts finishes.",
               "tonnage");
  app.require_subcommand(1);
  app.footer(kFooter);
  Action action;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->group(std::string(command.group));
    command.define(*sub, environment, action);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    usage_exit_code = app.exit(error) == 0 ? 0 : ExitCode(Code::kInvalidArgument);
    return {};
  }
  return action();
}

int Main(int argc, char** argv) {
  int usage_exit_code = 0;
  const Status status = OrExhausted([&] { return Run(argc, argv, usage_exit_code); });
  if (status.ok()) return usage_exit_code;
  std::fflush(stdout);
  std::fprintf(stderr, "tonnage: %s\n", status.error().message().c_str());
  return ExitCode(status.error().code());
}

}  // namespace
}  // namespace tonnage::cli

int main(int argc, char** argv) {
  tonnage::cli::PrepareProcess();
  std::setlocale(LC_CTYPE, "");  // line editing counts characters, not bytes
  return tonnage::cli::Main(argc, argv);
}
