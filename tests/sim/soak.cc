// The soak: random loads, requests, cancels, moves of other tenants and device faults on simulated
// devices, with modelled time, so that hours of a device pass in minutes. What is drawn depends on
// the seed alone and never on timing: a seed makes the same run again, to the same digest.
//
//   soak [--operations N] [--seed S]
//
// It asserts that no accepted request is aborted unless its device was made to fail, that every
// request ends exactly once, that equal requests get equal answers, that ledger, budget and device
// agree after every operation, and that the buffer count stays while nothing is loaded or unloaded.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <random>
#include <string_view>
#include <thread>

#include "base/check.h"
#include "machine.h"

namespace tonnage {
namespace {

#define REQUIRE(condition) \
  CHECK(condition) << "seed " << seed_ << ", operation " << operation_ << " "

constexpr const char* kModels[] = {"llama_biases", "qwen2_windows", "qwen3_moe_stacked"};
constexpr size_t kMostEngines = 3;
constexpr size_t kMostStreams = 14;
constexpr std::chrono::minutes kPatience(2);

struct Counts {
  std::int64_t loads = 0, load_refusals = 0, unloads = 0;
  std::int64_t requests = 0, request_refusals = 0, finished = 0, cancelled = 0, faulted = 0;
  std::int64_t closed = 0;  // ended because the soak unloaded their model
  std::int64_t aborted = 0;
  std::int64_t tenant_moves = 0, faults = 0, faults_hit = 0, machines = 1;
  std::int64_t balances = 0;
};

class Soak {
 public:
  Soak(std::uint64_t seed, std::int64_t operations)
      : seed_(seed), operations_(operations), random_(seed) {
    for (const char* name : kModels) models_.push_back(OpenModel(GoldenModel(name)).value());
    machine_ = std::make_unique<SimMachine>(ScaledM1());
  }

  void Run() {
    for (operation_ = 0; operation_ < operations_; ++operation_) {
      Operate();
      CheckBalance();
    }
    ReplaceMachine();
  }
  void Print(double seconds) const;

 private:
  struct Loaded {
    size_t model = 0;
    std::int64_t context_tokens = 0;
    std::unique_ptr<Engine> engine;
  };
  struct Stream {
    Loaded* loaded = nullptr;  // null once its model was unloaded
    std::string key;           // what its answer depends on
    std::int64_t max_tokens = 0;
    bool cancelled = false;
    Generation generation;
    Outcome outcome = {};  // as far as it was read
  };

  std::int64_t Draw(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  void Digest(std::uint64_t value) { digest_ = (digest_ ^ value) * 0x100000001b3u; }

  void Operate() {
    const std::int64_t choice = Draw(0, 999);
    Digest(static_cast<std::uint64_t>(choice));
    if (choice < 180) return Load();
    if (choice < 230) return Unload();
    if (choice < 600) return Start();
    if (choice < 850) return Read();
    if (choice < 900) return Cancel();
    if (choice < 990) return MoveTenants();
    Fault();
  }

  void Load();
  void Unload();
  void Start();
  void Read();
  void Cancel();
  void MoveTenants();
  void Fault();
  // Takes everything down and begins with a new device, as a new runner would.
  void ReplaceMachine();
  // Reads what every stream has to say, as a server does: answers that nobody reads hold memory
  // that others wait for. Whether there was anything.
  bool ReadAll();
  void Finish(std::list<Stream>::iterator stream);
  void CheckBalance();

  const std::uint64_t seed_;
  const std::int64_t operations_;
  std::int64_t operation_ = 0;
  std::mt19937_64 random_;
  std::vector<OpenedModel> models_;
  std::unique_ptr<SimMachine> machine_;
  std::list<Loaded> engines_;
  std::list<Stream> streams_;
  std::map<std::string, std::vector<std::int32_t>> answers_;
  std::int64_t buffers_ = 0;  // since the last load or unload
  bool faulty_ = false;       // the device was made to fail
  double modelled_ms_ = 0;    // of devices that are gone
  std::int64_t submissions_ = 0;
  std::uint64_t digest_ = 0xcbf29ce484222325u;
  Counts counts_;
};

void Soak::Load() {
  if (engines_.size() == kMostEngines) return Unload();
  const auto model = static_cast<size_t>(Draw(0, std::ssize(models_) - 1));
  const LoadSettings settings{.context_tokens = Draw(1, 256),
                              .slots = Draw(1, 4),
                              .slice_rows = Draw(1, 32),
                              .queue = {.requests = kMostStreams, .tokens = 2000}};
  const Available available = machine_->available();
  const LoadPlan plan = PlanLoad(models_[model], machine_->backend, settings, available).value();
  auto engine = machine_->LoadEngine(models_[model], settings);
  if (engine.ok()) {
    REQUIRE(!plan.refusal) << "what is refused must not load";
    ++counts_.loads;
    engines_.push_back({model, *settings.context_tokens, *std::move(engine)});
  } else if (!faulty_) {
    REQUIRE(plan.refusal) << "what is called fitting loads: " << engine.error().message();
    REQUIRE(engine.error().code() == Code::kRefused);
  } else {
    const Code code = engine.error().code();
    REQUIRE(code == Code::kRefused || code == Code::kUnavailable) << engine.error().message();
  }
  counts_.load_refusals += engine.ok() ? 0 : 1;
  buffers_ = machine_->device.budget().used_buffers();
}

void Soak::Unload() {
  if (engines_.empty()) return;
  const auto engine = std::next(engines_.begin(), Draw(0, std::ssize(engines_) - 1));
  for (Stream& stream : streams_) {
    if (stream.loaded == &*engine) stream.loaded = nullptr;
  }
  engines_.erase(engine);
  ++counts_.unloads;
  buffers_ = machine_->device.budget().used_buffers();
}

void Soak::Start() {
  if (streams_.size() == kMostStreams) return Read();
  if (engines_.empty()) return Load();
  Loaded& loaded = *std::next(engines_.begin(), Draw(0, std::ssize(engines_) - 1));
  // Few different ones, so that many are asked twice. Some are longer than the context.
  const std::int64_t prompt_tokens = Draw(1, 6) * Draw(1, 6) * 2;
  const std::int64_t max_tokens = Draw(1, 5) * Draw(1, 5);
  Request request = GreedyRequest(prompt_tokens, max_tokens);
  const auto sampling_seed = static_cast<std::uint64_t>(Draw(0, 3));
  if (sampling_seed > 0) request.sampling = {.temperature = 0.8, .seed = sampling_seed};
  const bool fits = prompt_tokens + max_tokens <= loaded.context_tokens;
  auto generation = loaded.engine->Start(std::move(request));
  if (!generation.ok()) {
    ++counts_.request_refusals;
    const bool failed = faulty_ && generation.error().code() == Code::kUnavailable;
    REQUIRE(failed || (!fits && generation.error().code() == Code::kTooLong))
        << generation.error().message();
    return;
  }
  REQUIRE(fits);
  ++counts_.requests;
  streams_.push_back(
      {&loaded, fmt::format("{} {} {} {}", loaded.model, prompt_tokens, max_tokens, sampling_seed),
       max_tokens, false, *std::move(generation)});
}

void Soak::Read() {
  if (streams_.empty()) return;
  Finish(std::next(streams_.begin(), Draw(0, std::ssize(streams_) - 1)));
}

void Soak::Cancel() {
  if (streams_.empty()) return;
  Stream& stream = *std::next(streams_.begin(), Draw(0, std::ssize(streams_) - 1));
  stream.cancelled = true;
  stream.generation.Cancel();
}

void Soak::MoveTenants() {
  ++counts_.tenant_moves;
  const Bytes memory = ScaledM1().memory_bytes;
  // From nobody beside us to more than all of it.
  machine_->device.SetForeignBytes(Draw(0, 3) == 0 ? 0 : Draw(0, memory + memory / 8));
}

void Soak::Fault() {
  ++counts_.faults;
  faulty_ = true;
  // When a fault is met, and so what comes of the next operations, is a matter of timing: what they
  // draw must not reach beyond this device.
  const std::uint64_t seed_after = random_();
  machine_->device.Arm(
      {static_cast<FaultPoint>(Draw(0, 3)), Draw(1, 60), static_cast<FaultEffect>(Draw(0, 2))});
  for (std::int64_t i = Draw(0, 6); i > 0; --i) Draw(0, 3) == 0 ? Load() : Start();
  ReplaceMachine();
  random_.seed(seed_after);
}

void Soak::ReplaceMachine() {
  while (!streams_.empty()) Finish(streams_.begin());
  engines_.clear();
  REQUIRE(machine_->Empty()) << "something is left";
  counts_.faults_hit += machine_->device.faults_hit();
  ++counts_.machines;
  modelled_ms_ += machine_->device.now_ms();
  submissions_ += machine_->device.statistics().submissions;
  machine_ = std::make_unique<SimMachine>(ScaledM1());
  buffers_ = 0;
  faulty_ = false;
}

bool Soak::ReadAll() {
  bool any = false;
  for (Stream& stream : streams_) {
    while (auto event = stream.generation.TryNext()) {
      any = true;
      REQUIRE(stream.outcome.ends == 0) << "an event after the end";
      Take(*event, stream.outcome);
    }
  }
  return any;
}

// Reads a stream to its end and judges how it ended.
void Soak::Finish(std::list<Stream>::iterator stream) {
  const Outcome& outcome = stream->outcome;
  const auto begun_at = std::chrono::steady_clock::now();
  while (outcome.ends == 0) {
    if (ReadAll()) continue;
    REQUIRE(std::chrono::steady_clock::now() - begun_at < kPatience) << "no end in sight";
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const auto [answer, is_new] = answers_.try_emplace(stream->key, outcome.tokens);
  std::vector<std::int32_t>& known = answer->second;
  const size_t common = std::min(known.size(), outcome.tokens.size());
  REQUIRE(std::equal(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(common),
                     outcome.tokens.begin()))
      << "another answer to " << stream->key;
  if (outcome.tokens.size() > known.size()) known = outcome.tokens;
  switch (outcome.done.reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      REQUIRE(std::ssize(outcome.tokens) == stream->max_tokens) << "cut short";
      ++counts_.finished;
      break;
    case FinishReason::kCancelled:
      REQUIRE(stream->cancelled);
      ++counts_.cancelled;
      break;
    case FinishReason::kError:
      REQUIRE(outcome.done.error->code() == Code::kUnavailable) << outcome.done.error->message();
      if (stream->loaded == nullptr) {
        ++counts_.closed;
      } else if (machine_->device.faults_hit() > 0) {
        ++counts_.faulted;
      } else {
        ++counts_.aborted;
        REQUIRE(false) << "aborted: " << outcome.done.error->message();
      }
      break;
  }
  streams_.erase(stream);
}

void Soak::CheckBalance() {
  ++counts_.balances;
  REQUIRE(machine_->Balanced());
  REQUIRE(machine_->device.budget().used_buffers() == buffers_);
  REQUIRE(machine_->device.statistics().kills == 0 || faulty_);
}

void Soak::Print(double seconds) const {
  const Counts& c = counts_;
  fmt::print(
      "seed {}: {} operations in {:.1f} s; {:.1f} h of modelled time, {} submissions, {} devices\n"
      "loads: {} loaded, {} refused, {} unloaded\n"
      "requests: {} accepted, {} refused; {} finished, {} cancelled, {} ended by unloading their "
      "model, {} by a fault of their device\n"
      "tenants moved {} times; {} faults armed, {} met\n"
      "aborted without a fault: {}; ledger imbalances: 0 in {} checks; buffer count constant "
      "while serving\n"
      "digest of operations: {:016x}\n",
      seed_, operations_, seconds, modelled_ms_ / 3.6e6, submissions_, c.machines, c.loads,
      c.load_refusals, c.unloads, c.requests, c.request_refusals, c.finished, c.cancelled, c.closed,
      c.faulted, c.tenant_moves, c.faults, c.faults_hit, c.aborted, c.balances, digest_);
}

std::uint64_t ParseNumber(const char* name, const char* text) {
  const auto number = ParseCount(name, text);
  if (number.ok()) return static_cast<std::uint64_t>(*number);
  fmt::print(stderr, "{}\n", number.error().message());
  std::exit(2);
}

int Main(int argc, char** argv) {
  std::uint64_t seed = 1, operations = 3000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--seed") seed = ParseNumber("--seed", argv[i + 1]);
    if (option == "--operations") operations = ParseNumber("--operations", argv[i + 1]);
  }
  fmt::print("soak --operations {} --seed {}\n", operations, seed);
  std::fflush(stdout);
  Soak soak(seed, static_cast<std::int64_t>(operations));
  const auto begin = std::chrono::steady_clock::now();
  soak.Run();
  soak.Print(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}

}  // namespace
}  // namespace tonnage

int main(int argc, char** argv) { return tonnage::Main(argc, argv); }
