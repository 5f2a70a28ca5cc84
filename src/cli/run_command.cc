// run: one answer, or a chat. Standard output carries the answer; everything else goes to standard
// error.
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/line_editor.h"
#include "cli/runtime.h"
#include "service/chat_session.h"
#include "service/text.h"

namespace tonnage::cli {
namespace {

struct RunOptions {
  ModelOptions model;
  std::string prompt;
  std::string system;
  bool raw = false;
  TextRequest request;
};

// A signal handler can only reach what is global: the chat whose answer ctrl-C stops, and whether
// it did.
std::atomic<ChatSession*> interruptible{nullptr};
std::atomic<bool> interrupted{false};

void OnInterrupt(int) {
  interrupted.store(true);
  if (ChatSession* session = interruptible.load()) session->Stop();
}

// While it lives, ctrl-C stops the session's answer, if one is under way, and never the program.
class InterruptGuard {
 public:
  explicit InterruptGuard(ChatSession& session) {
    interrupted.store(false);
    interruptible.store(&session);
    struct sigaction action {};
    action.sa_handler = OnInterrupt;
    action.sa_flags = SA_RESTART;  // a line that is being typed goes on
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptGuard() {
    sigaction(SIGINT, &before_, nullptr);
    interruptible.store(nullptr);
  }

 private:
  struct sigaction before_ {};
};

void AddSampling(CLI::App& app, TextRequest& request) {
  SamplingParams& sampling = request.sampling;
  sampling.temperature = 0.7;
  sampling.top_p = 0.95;
  constexpr const char* kGroup = "How tokens are chosen";
  const auto add = [&](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str()->group(kGroup);
  };
  add("--temperature", sampling.temperature, "0 takes the likeliest token each time");
  add("--top-k", sampling.top_k, "only the k likeliest; 0 is off");
  add("--top-p", sampling.top_p, "only the likeliest that hold this share of the probability");
  add("--min-p", sampling.min_p, "only those at least this many times as likely as the likeliest");
  add("--typical-p", sampling.typical_p, "locally typical sampling");
  add("--repetition-penalty", sampling.repetition_penalty,
      "of tokens in prompt and answer; 1 is off");
  add("--presence-penalty", sampling.presence_penalty, "of tokens in the answer");
  add("--frequency-penalty", sampling.frequency_penalty, "of tokens in the answer, for each time");
  app.add_option("--seed", sampling.seed, "the same seed gives the same answer")->group(kGroup);
  app.add_option("--max-tokens", request.max_tokens,
                 "the longest answer (default: what the context leaves)")
      ->check(CLI::PositiveNumber)
      ->group(kGroup);
  app.add_option("--stop", request.stop,
                 "end the answer before this text; may be given several times")
      ->group(kGroup);
}

// Streams one answer to standard output, then says on standard error how fast it came.
Status Answer(ChatSession& session, const std::string& question) {
  ASSIGN_OR_RETURN(const TextDone done, session.Ask(question, [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }));
  std::fputc('\n', stdout);
  std::fflush(stdout);
  const char* why = done.reason == FinishReason::kLength      ? ", cut at the length limit"
                    : done.reason == FinishReason::kCancelled ? ", stopped"
                                                              : "";
  fmt::print(stderr, "[{} tokens, {:.1f} tokens/s{}]\n", done.usage.generated_tokens,
             DecodeTokensPerSecond(done.usage), why);
  if (done.error) return *done.error;
  return {};
}

constexpr const char* kChatHelp =
    "Write, and press enter. End a line with \\ to go on in the next.\n"
    "  /clear   forget the conversation\n"
    "  /help    this\n"
    "  /bye     leave, as ctrl-D does\n"
    "ctrl-C stops an answer, and drops a line that you write.\n";

// Reads a question, joining lines that end with a backslash.
std::optional<std::string> ReadQuestion(LineEditor& editor) {
  std::string question;
  const char* prompt = ">>> ";
  for (;;) {
    const auto line = editor.ReadLine(prompt);
    if (!line) return std::nullopt;
    question += *line;
    if (!question.ends_with('\\')) return question;
    question.back() = '\n';
    prompt = "... ";
  }
}

Status Chat(ChatSession& session, const Environment& environment) {
  LineEditor editor(environment.home + "/history");
  std::fputs("Chat: /help says what can be done, ctrl-D leaves.\n", stderr);
  for (;;) {
    const auto question = ReadQuestion(editor);
    if (!question || *question == "/bye") return {};
    if (question->empty()) continue;
    if (*question == "/help") {
      std::fputs(kChatHelp, stderr);
    } else if (*question == "/clear") {
      session.Clear();
      std::fputs("The conversation is forgotten.\n", stderr);
    } else if (question->starts_with('/')) {
      fmt::print(stderr, "no command {}: /help says what can be done\n", *question);
    } else if (const Status status = Answer(session, *question); !status.ok()) {
      // The conversation goes on without this question.
      fmt::print(stderr, "{} (/clear forgets the conversation)\n", status.error().message());
    }
  }
}

// The prompt as it is, without a template: the model goes on writing it.
Status Complete(const TextEngine& engine, TextRequest request) {
  ASSIGN_OR_RETURN(TextGeneration generation, engine.Start(request));
  while (auto event = generation.Next()) {
    if (const auto* delta = std::get_if<TextDelta>(&*event)) {
      std::fwrite(delta->text.data(), 1, delta->text.size(), stdout);
      std::fflush(stdout);
    } else if (const auto& done = std::get<TextDone>(*event); done.error) {
      return *done.error;
    } else {
      std::fputc('\n', stdout);
      fmt::print(stderr, "[{} tokens, {:.1f} tokens/s]\n", done.usage.generated_tokens,
                 DecodeTokensPerSecond(done.usage));
    }
  }
  return {};
}

Status RunModel(const RunOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(const LoadSettings settings, options.model.Settings());
  ASSIGN_OR_RETURN(const auto runtime,
                   Runtime::Open(options.model, environment, Runtime::Text::kRequired));
  ASSIGN_OR_RETURN(Engine* const engine, runtime->Load(settings, environment));
  ASSIGN_OR_RETURN(const auto text_engine, TextEngine::Make(*engine, runtime->TakeText()));

  std::string prompt = options.prompt;
  if (prompt.empty() && !environment.stdin_is_terminal) {
    prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
    while (prompt.ends_with('\n')) prompt.pop_back();
    if (prompt.empty())
      return InvalidArgument("no prompt: give one as an argument or on standard input");
  }
  if (options.raw || !text_engine->has_template()) {
    if (!options.raw)
      std::fputs("This model has no chat template: it goes on writing what you give it.\n", stderr);
    if (prompt.empty())
      return InvalidArgument(
          "without a chat template there is no chat: give a PROMPT to go on from");
    TextRequest request = options.request;
    request.prompt = prompt;
    return Complete(*text_engine, request);
  }
  ChatSession session(*text_engine, options.request, options.system);
  const InterruptGuard guard(session);
  if (prompt.empty()) return Chat(session, environment);
  RETURN_IF_ERROR(Answer(session, prompt));
  if (interrupted.load()) return Cancelled("interrupted");
  return {};
}

}  // namespace

void DefineRun(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<RunOptions>();
  options->model.AddTo(app);
  app.add_option("PROMPT", options->prompt,
                 "what to ask; without it and on a terminal, a chat begins");
  app.add_option("--system", options->system, "a system prompt");
  app.add_flag("--raw", options->raw, "no chat template: the model goes on writing the prompt");
  AddSampling(app, options->request);
  app.callback([&, options] {
    action = [&environment, options] { return RunModel(*options, environment); };
  });
}

}  // namespace tonnage::cli
