// eval: how likely a model finds a text, and how far its predictions are from another run's.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "checkpoint/mapped_file.h"
#include "cli/commands.h"
#include "cli/likelihood.h"
#include "cli/reference_file.h"
#include "cli/runtime.h"

namespace tonnage::cli {
namespace {

struct EvalOptions {
  ModelOptions model;
  std::string text;
  std::int64_t window = 512;
  std::string save;
  std::string reference;
  bool json = false;
};

// Logits rows a step gives: enough to keep a window's evaluation in few steps.
constexpr std::int64_t kLogitRows = 128;

// What is said of a text is of its own tokens: none that a model's template would put before them.
Result<WindowedText> ReadText(const EvalOptions& options, const Tokenizer& tokenizer,
                              std::int64_t vocab) {
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(options.text));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  WindowedText windowed{.ids = {}, .window = options.window, .vocab = vocab};
  ASSIGN_OR_RETURN(windowed.ids,
                   tokenizer.Encode(text, /*add_special=*/false, /*parse_special=*/false));
  if (windowed.tokens() < 2) {
    return InvalidArgument(
        "{}: {} tokens, but at least 2 are needed: the first is only what the second follows",
        options.text, windowed.tokens());
  }
  // A window of one token predicts nothing.
  if (windowed.tokens() % windowed.window == 1) windowed.ids.pop_back();
  windowed.window = std::min(windowed.window, windowed.tokens());
  return windowed;
}

// The sums over a text, and what is made of its rows on the way.
class Evaluation {
 public:
  Evaluation(const WindowedText& text, std::optional<ReferenceWriter> writer,
             std::optional<ReferenceReader> reader)
      : text_(text),
        writer_(std::move(writer)),
        reader_(std::move(reader)),
        reference_row_(reader_ ? static_cast<size_t>(text.vocab) : 0) {}

  // The logits [tokens, vocab] of the window that begins at token `first`.
  Status AddWindow(std::int64_t first, std::vector<float> logits) {
    const auto vocab = static_cast<size_t>(text_.vocab);
    const size_t tokens = logits.size() / vocab;
    for (size_t i = 0; i < tokens; ++i) {
      const std::span row = std::span(logits).subspan(i * vocab, vocab);
      LogSoftmax(row);
      AddRow(first + static_cast<std::int64_t>(i), i + 1 == tokens, row);
    }
    return writer_ ? writer_->Add(logits) : Status();
  }

  Status Finish() { return writer_ ? writer_->Finish() : Status(); }

  double Perplexity() const { return likelihood_.Perplexity(); }

  Json ToJson() const {
    Json json = {{"tokens", text_.tokens()},
                 {"window", text_.window},
                 {"predicted_tokens", likelihood_.tokens()},
                 {"perplexity", likelihood_.Perplexity()}};
    if (reader_) {
      json["reference_perplexity"] = of_reference_.Perplexity();
      json["perplexity_change"] = PerplexityChange();
      json["mean_kl"] = divergence_.Mean();
      json["max_kl"] = divergence_.Max();
      json["top_token_same"] = divergence_.TopSame();
    }
    return json;
  }

  void Print() const {
    fmt::print("{} tokens in windows of {}\n", FormatThousands(text_.tokens()), text_.window);
    fmt::print("perplexity      {:.4f}\n", likelihood_.Perplexity());
    if (!reader_) return;
    fmt::print("of reference    {:.4f}, so {:+.4f}%\n", of_reference_.Perplexity(),
               100 * PerplexityChange());
    fmt::print("KL divergence   {:.2e} mean, {:.2e} at most\n", divergence_.Mean(),
               divergence_.Max());
    fmt::print("same top token  {:.2f}%\n", 100 * divergence_.TopSame());
  }

 private:
  void AddRow(std::int64_t index, bool last_of_window, std::span<const float> row) {
    const auto next = [&] { return text_.ids[static_cast<size_t>(index) + 1]; };
    if (!last_of_window) likelihood_.Add(row, next());
    if (!reader_) return;
    reader_->Read(index, reference_row_);
    if (!last_of_window) of_reference_.Add(reference_row_, next());
    divergence_.Add(reference_row_, row);
  }
  double PerplexityChange() const {
    return likelihood_.Perplexity() / of_reference_.Perplexity() - 1;
  }

  const WindowedText& text_;
  std::optional<ReferenceWriter> writer_;
  std::optional<ReferenceReader> reader_;
  std::vector<float> reference_row_;  // [vocab]
  Likelihood likelihood_;
  Likelihood of_reference_;
  Divergence divergence_;
};

Result<Evaluation> Prepare(const EvalOptions& options, const WindowedText& text) {
  std::optional<ReferenceWriter> writer;
  std::optional<ReferenceReader> reader;
  if (!options.save.empty()) {
    fmt::print(stderr, "[{}: {} will be written]\n", options.save,
               FormatBytes(ReferenceBytes(text)));
    ASSIGN_OR_RETURN(writer, ReferenceWriter::Create(options.save, text));
  }
  if (!options.reference.empty()) {
    ASSIGN_OR_RETURN(reader, ReferenceReader::Open(options.reference, text));
  }
  return Evaluation(text, std::move(writer), std::move(reader));
}

Status EvaluateWindows(const WindowedText& text, bool show_progress, Engine& engine,
                       Evaluation& evaluation) {
  for (std::int64_t first = 0; first < text.tokens(); first += text.window) {
    const std::int64_t end = std::min(first + text.window, text.tokens());
    ASSIGN_OR_RETURN(std::vector<float> logits,
                     engine.Evaluate({text.ids.begin() + first, text.ids.begin() + end}));
    RETURN_IF_ERROR(evaluation.AddWindow(first, std::move(logits)));
    if (show_progress) {
      fmt::print(stderr, "\r{} of {} tokens, perplexity {:.4f}\033[K", FormatThousands(end),
                 FormatThousands(text.tokens()), evaluation.Perplexity());
    }
  }
  if (show_progress) fmt::print(stderr, "\r\033[K");
  return evaluation.Finish();
}

Status Eval(const EvalOptions& options, const Environment& environment) {
  ASSIGN_OR_RETURN(LoadSettings settings, options.model.ComparisonSettings());
  ASSIGN_OR_RETURN(const auto runtime,
                   Runtime::Open(options.model, environment, Runtime::Text::kRequired));
  const ModelText model_text = runtime->TakeText();
  ASSIGN_OR_RETURN(const WindowedText text,
                   ReadText(options, *model_text.tokenizer, runtime->model().model.info.vocab));
  ASSIGN_OR_RETURN(Evaluation evaluation, Prepare(options, text));

  if (!settings.context_tokens) settings.context_tokens = text.window;
  settings.logit_rows = kLogitRows;
  // The text's tokens and a window's logits.
  settings.process_bytes = text.tokens() * static_cast<Bytes>(sizeof(std::int32_t)) +
                           text.window * text.vocab * DTypeBytes(DType::kF32);
  ASSIGN_OR_RETURN(Engine* const engine, runtime->Load(settings, environment));
  RETURN_IF_ERROR(EvaluateWindows(text, environment.stderr_is_terminal, *engine, evaluation));
  if (options.json) {
    fmt::print("{}\n", DumpJson(evaluation.ToJson()));
  } else {
    evaluation.Print();
  }
  return {};
}

}  // namespace

void DefineEval(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<EvalOptions>();
  options->model.AddTo(app);
  app.add_option("--perplexity", options->text, "the text file to evaluate")->required();
  app.add_option("--window", options->window, "tokens that are evaluated together, each alone")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  CLI::Option* const save =
      app.add_option("--save", options->save,
                     "also write every prediction to this file, for --kl to compare with");
  app.add_option("--kl", options->reference,
                 "compare with the predictions that another run saved of the same text")
      ->excludes(save);
  app.add_flag("--json", options->json, "one JSON object");
  app.footer(
      "The text is cut in windows, each evaluated alone; a window's first token is not predicted. "
      "With --precision exact the\ncache is f32 unless --kv says otherwise. A reference takes four "
      "bytes a token and entry of the vocabulary.");
  app.callback(
      [&, options] { action = [&environment, options] { return Eval(*options, environment); }; });
}

}  // namespace tonnage::cli
