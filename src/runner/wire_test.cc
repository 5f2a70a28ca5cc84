#include "runner/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tonnage::wire {
namespace {

using namespace std::chrono_literals;

template <typename T>
std::string Frame(T message) {
  std::string out;
  EXPECT_TRUE(Append(Message(std::move(message)), out).ok());
  return out;
}

template <typename T>
T ThereAndBack(const T& message) {
  Reader reader;
  reader.Push(Frame(message));
  auto read = reader.Next();
  EXPECT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(read->has_value());
  return std::get<T>(**read);
}

Start FullStart() {
  Start start{.id = 7, .choices = 3};
  start.request.prompt = {1, 2, -3, INT32_MAX};
  start.request.sampling = {.temperature = 0.5, .top_k = 40, .seed = 1ull << 63};
  start.request.sampling.logit_bias = {{5, -100.0f}, {6, 2.5f}};
  start.request.max_tokens = 100;
  start.request.stop_tokens = {2};
  start.request.logprobs = 20;
  start.request.deadline = Clock::time_point(123456789ns);
  return start;
}

Beat FullBeat() {
  Beat beat;
  beat.status = {.running = 2,
                 .waiting = 3,
                 .waiting_tokens = 500,
                 .free_slots = 1,
                 .free_pages = 9,
                 .pages = 40,
                 .steps = 12345,
                 .stepped_at = Clock::time_point(99s),
                 .mean_run = 3s,
                 .health = Unavailable("the device failed")};
  beat.status.memory.by_owner[2] = 77;
  beat.status.memory.peak_bytes = 88;
  beat.status.memory.budget.limit_buffers = 99;
  beat.status.memory.pressure = Pressure::kAdmissionsClosed;
  return beat;
}

Done FullDone() {
  return {.id = 9,
          .event = {.reason = FinishReason::kError,
                    .stop_token = 4,
                    .error = Busy("later").About("prompt"),
                    .usage = {.prompt_tokens = 1,
                              .generated_tokens = 2,
                              .queued = 3ns,
                              .prefill = 4ns,
                              .decode = 5ns}}};
}

// One of each kind.
std::vector<std::string> AllFrames() {
  return {Frame(FullStart()),
          Frame(Cancel{8}),
          Frame(Planned{{.weights = 5, .runtime = 6}, {1 << 30, "RAM"}}),
          Frame(Progress{10, 20, "model.norm"}),
          Frame(Ready{{.architecture = "llama", .layers = 2, .vocab = 50},
                      {.context_tokens = 64, .slots = 2, .kv_dtype = DType::kBF16},
                      {.kv = 99}}),
          Frame(Failed{Error(Code::kRefused, "too much")}),
          Frame(Started{1}),
          Frame(Refused{2, TooLong("by 3").About("max_tokens")}),
          Frame(Token{3, 17, -0.5f, {{1, -1.0f}, {2, -2.0f}}}),
          Frame(FullDone()),
          Frame(FullBeat())};
}

TEST(Wire, ARequestArrivesAsItWasSent) {
  const Start sent = FullStart();
  const Start got = ThereAndBack(sent);
  EXPECT_EQ(got.id, 7u);
  EXPECT_EQ(got.choices, 3);
  EXPECT_EQ(got.request.prompt, sent.request.prompt);
  EXPECT_EQ(got.request.sampling.temperature, 0.5);
  EXPECT_EQ(got.request.sampling.top_k, 40);
  EXPECT_EQ(got.request.sampling.seed, 1ull << 63);
  EXPECT_EQ(got.request.sampling.logit_bias.size(), 2u);
  EXPECT_EQ(got.request.sampling.logit_bias[1].bias, 2.5f);
  EXPECT_EQ(got.request.max_tokens, 100);
  EXPECT_EQ(got.request.stop_tokens, sent.request.stop_tokens);
  EXPECT_EQ(got.request.logprobs, 20);
  EXPECT_EQ(got.request.deadline, sent.request.deadline);
}

TEST(Wire, ErrorsKeepCodeMessageAndField) {
  const Done got = ThereAndBack(FullDone());
  EXPECT_EQ(got.event.reason, FinishReason::kError);
  EXPECT_EQ(got.event.error->code(), Code::kBusy);
  EXPECT_EQ(got.event.error->message(), "later");
  EXPECT_EQ(got.event.error->field(), "prompt");
  EXPECT_EQ(got.event.usage.decode, 5ns);
  EXPECT_EQ(ThereAndBack(Done{.id = 1}).event.error, std::nullopt);
  const Refused refused = ThereAndBack(Refused{2, TooLong("by 3").About("max_tokens")});
  EXPECT_EQ(refused.error.code(), Code::kTooLong);
  EXPECT_EQ(refused.error.field(), "max_tokens");
}

TEST(Wire, StatusArrivesAsItWasSent) {
  const EngineStatus got = ThereAndBack(FullBeat()).status;
  EXPECT_EQ(got.waiting_tokens, 500);
  EXPECT_EQ(got.steps, 12345u);
  EXPECT_EQ(got.stepped_at, Clock::time_point(99s));
  EXPECT_EQ(got.health.error().message(), "the device failed");
  EXPECT_EQ(got.memory.by_owner[2], 77);
  EXPECT_EQ(got.memory.peak_bytes, 88);
  EXPECT_EQ(got.memory.budget.limit_buffers, 99);
  EXPECT_EQ(got.memory.pressure, Pressure::kAdmissionsClosed);
  EXPECT_TRUE(ThereAndBack(Beat{}).status.health.ok());
}

TEST(Wire, MessagesAreFoundWhereverTheStreamIsCut) {
  std::string all;
  const auto frames = AllFrames();
  for (const std::string& frame : frames) all += frame;
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{64}, all.size()}) {
    Reader reader;
    std::vector<size_t> kinds;
    for (size_t at = 0; at < all.size(); at += piece) {
      reader.Push(std::string_view(all).substr(at, piece));
      for (;;) {
        auto next = reader.Next();
        ASSERT_TRUE(next.ok()) << next.error().message();
        if (!*next) break;
        kinds.push_back((*next)->index());
      }
    }
    EXPECT_THAT(kinds, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  }
}

TEST(Wire, AFrameCutShortOrWithMoreInItIsAnError) {
  for (const std::string& frame : AllFrames()) {
    const std::uint32_t body = static_cast<std::uint32_t>(frame.size() - kHeaderBytes);
    for (std::uint32_t length = 0; length < body; ++length) {
      std::string cut = frame.substr(0, kHeaderBytes + length);
      std::memcpy(cut.data(), &length, sizeof(length));
      Reader reader;
      reader.Push(cut);
      EXPECT_FALSE(reader.Next().ok()) << int{frame[4]} << " at " << length;
    }
    std::string more = frame + '\0';
    const std::uint32_t length = body + 1;
    std::memcpy(more.data(), &length, sizeof(length));
    Reader reader;
    reader.Push(more);
    EXPECT_FALSE(reader.Next().ok()) << int{frame[4]};
  }
}

TEST(Wire, LengthsAndKindsOutOfRangeAreErrors) {
  std::string frame = Frame(Cancel{8});
  frame[4] = 11;
  Reader unknown;
  unknown.Push(frame);
  EXPECT_FALSE(unknown.Next().ok());
  EXPECT_FALSE(unknown.Next().ok());  // and it stays one
  frame[3] = 0x7f;
  Reader huge;
  huge.Push(frame);
  EXPECT_FALSE(huge.Next().ok());

  Start start;
  start.request.prompt.resize(kMaxBodyBytes / 4 + 1);
  std::string out = "before";
  const Status appended = Append(Message(std::move(start)), out);
  EXPECT_EQ(appended.error().code(), Code::kTooLong);
  EXPECT_EQ(out, "before");
}

// Every message that mutated bytes parse to can be sent again, and then reads alike.
TEST(Wire, MutatedFramesAreMessagesOrErrors) {
  std::mt19937 rng(5);
  const auto frames = AllFrames();
  int parsed = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = frames[rng() % frames.size()];
    for (unsigned change = rng() % 4 + 1; change > 0; --change) {
      bytes[rng() % bytes.size()] = static_cast<char>(rng());
    }
    Reader reader;
    reader.Push(bytes);
    const auto next = reader.Next();
    if (!next.ok()) {
      ++refused;
      continue;
    }
    if (!*next) continue;
    ++parsed;
    std::string again;
    ASSERT_TRUE(Append(**next, again).ok());
    EXPECT_EQ(again, bytes.substr(0, again.size()));
  }
  EXPECT_GT(parsed, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(Wire, AKeyIsOfWhatIsAsked) {
  Request request = FullStart().request;
  const std::uint64_t key = KeyOf(request);
  request.deadline = std::nullopt;
  EXPECT_EQ(KeyOf(request), key);
  request.sampling.temperature = 0.6;
  EXPECT_NE(KeyOf(request), key);
  request.sampling.temperature = 0.5;
  request.prompt.push_back(1);
  EXPECT_NE(KeyOf(request), key);
}

}  // namespace
}  // namespace tonnage::wire
