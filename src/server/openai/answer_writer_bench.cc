// What a streamed token costs to write, with and without its log probabilities.
#include <benchmark/benchmark.h>

#include "server/openai/answer_writer.h"

namespace tonnage::openai {
namespace {

void BM_StreamedToken(benchmark::State& state) {
  const auto text = OpenModelText("tests/golden/tiny_chat").value();
  const auto top = static_cast<std::size_t>(state.range(0));
  const Call call{.prompts = {TextRequest()}, .logprobs = top > 0};
  const auto writer = AnswerWriter::Make(call,
                                         {.id = "chatcmpl-0123456789abcdef0123456789abcdef",
                                          .created_s = 1'700'000'000,
                                          .model = "org/model",
                                          .fingerprint = "tonnage-1.2.3"},
                                         *text.tokenizer);
  TextDelta delta{.text = " token", .tokens = {}};
  if (top > 0) delta.tokens.push_back({.token = 100, .logprob = -1, .top = {}});
  for (std::size_t i = 1; i < top; ++i) delta.tokens[0].top.push_back({100, -2});
  std::string out;
  for (auto _ : state) {
    out.clear();
    writer->Delta(0, delta, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_StreamedToken)->Arg(0)->Arg(1)->Arg(21);

}  // namespace
}  // namespace tonnage::openai
