// tokenize and detokenize: text to ids and back, a JSON value a line.
#include <iostream>
#include <memory>
#include <string>

#include "checkpoint/store.h"
#include "cli/commands.h"
#include "service/text.h"
#include "tokenizer/lines.h"

namespace tonnage::cli {
namespace {

using Line = std::string (*)(const Tokenizer& tokenizer, std::string_view line, bool flag);

struct TokenizeOptions {
  std::string model;
  bool flag = false;
};

Status Run(const TokenizeOptions& options, const Environment& environment, Line line_of) {
  ASSIGN_OR_RETURN(const auto path, ModelStore(environment.home).Resolve(options.model));
  ASSIGN_OR_RETURN(const ModelText text, OpenModelText(path.string()));
  bool failed = false;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string answer = line_of(*text.tokenizer, line, options.flag);
    failed |= answer.starts_with('{');  // an error; what is wanted is an array or a string
    std::cout << answer << '\n';
    std::cout.flush();
  }
  if (failed) return InvalidArgument("some lines could not be done; each says why in its place");
  return {};
}

void Define(CLI::App& app, const Environment& environment, Action& action, const char* flag,
            const char* help, Line line_of) {
  auto options = std::make_shared<TokenizeOptions>();
  app.add_option("MODEL", options->model,
                 "a name in the store, a folder or a GGUF file; its tokenizer is enough")
      ->required();
  app.add_flag(flag, options->flag, help);
  app.callback([options, environment, &action, line_of] {
    action = [options, environment, line_of] { return Run(*options, environment, line_of); };
  });
}

}  // namespace

void DefineTokenize(CLI::App& app, const Environment& environment, Action& action) {
  app.footer("In: a JSON string a line. Out: an array of ids a line.");
  Define(app, environment, action, "--special", "add what the post-processor adds", TokenizeLine);
}

void DefineDetokenize(CLI::App& app, const Environment& environment, Action& action) {
  app.footer("In: an array of ids a line. Out: a JSON string a line.");
  Define(app, environment, action, "--skip-special", "leave special tokens out", DetokenizeLine);
}

}  // namespace tonnage::cli
