// runner: one model for the server that started this process, over the socket that it left here.
// Nobody else calls it. Ends with the server.
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>

#include "cli/commands.h"
#include "cli/memory_watch.h"
#include "cli/runtime.h"
#include "runner/channel.h"
#include "runner/crash_report.h"
#include "runner/serve_engine.h"
#include "server/supervisor/runner_process.h"

namespace tonnage::cli {
namespace {

struct RunnerOptions {
  ModelOptions model;
  QueueLimits queue;
  std::int64_t beat_ms = 250;
};

// How often a load says how far it is.
constexpr std::chrono::milliseconds kProgressTime{50};
// How long the reason for a failed load may take to be sent.
constexpr std::chrono::milliseconds kFlushTime{1'000};

// A load that is watched by the server, and ends when that is gone.
class WatchedLoad {
 public:
  WatchedLoad(Channel& channel, const Available& available)
      : channel_(channel), available_(available) {}

  LoadHooks Hooks() {
    return {.planned =
                [this](const LoadPlan& plan) {
                  Say(wire::Planned{.quote = plan.quote, .available = available_});
                },
            .progress =
                [this](Bytes done, Bytes total, std::string_view weight) {
                  const auto now = Clock::now();
                  if (now < due_) return;
                  due_ = now + kProgressTime;
                  Say(wire::Progress{.done = done, .total = total, .weight = std::string(weight)});
                },
            .cancelled = &gone_};
  }

 private:
  void Say(const wire::Message& message) {
    std::vector<wire::Message> ignored;
    if (!channel_.Send(message).ok() || !channel_.Exchange(ignored).ok()) gone_.store(true);
  }

  Channel& channel_;
  const Available available_;
  Clock::time_point due_ = {};
  std::atomic<bool> gone_{false};
};

Status LoadAndServe(const RunnerOptions& options, const Environment& environment, Channel& channel,
                    bool& loaded) {
  ASSIGN_OR_RETURN(LoadSettings settings, options.model.Settings());
  settings.queue = options.queue;
  settings.process_bytes = ChannelBytes(settings.context_tokens.value_or(kDefaultContextTokens));
  ASSIGN_OR_RETURN(const auto runtime, Runtime::Open(options.model, environment));
  SetCrashFacts(&runtime->ledger(), nullptr);
  WatchedLoad load(channel, runtime->available());
  const auto engine = runtime->Load(settings, environment, load.Hooks());
  Status served;
  if (engine.ok()) {
    SetCrashFacts(&runtime->ledger(), &(*engine)->mark());
    served = channel.Send(wire::Ready{
        .info = (*engine)->info(), .cache = (*engine)->cache(), .quote = (*engine)->quote()});
    if (served.ok()) {
      const MemoryWatch memory(*runtime, **engine);
      served = ServeEngine(**engine, channel, std::chrono::milliseconds(options.beat_ms),
                           [&memory] { return memory.Report(); });
    }
    loaded = true;
  } else {
    served = engine.error();
  }
  SetCrashFacts(nullptr, nullptr);
  return served;
}

Status RunRunner(const RunnerOptions& options, const Environment& environment) {
  struct stat info {};
  if (fstat(kRunnerSocket, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    return InvalidArgument("`tonnage runner` is for `tonnage serve` to start");
  }
  // To stop is the server's decision, also where a signal goes to all of its processes.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  InstallCrashHandlers();
  Channel channel(kRunnerSocket);
  bool loaded = false;
  const Status served = LoadAndServe(options, environment, channel, loaded);
  if (!served.ok() && !loaded && channel.Send(wire::Failed{served.error()}).ok()) {
    Flush(channel, kFlushTime);
  }
  return served;
}

}  // namespace

void DefineRunner(CLI::App& app, const Environment& environment, Action& action) {
  auto options = std::make_shared<RunnerOptions>();
  options->model.AddTo(app);
  app.add_option("--queue-requests", options->queue.requests);
  app.add_option("--queue-tokens", options->queue.tokens);
  app.add_option("--beat-ms", options->beat_ms)->check(CLI::PositiveNumber);
  app.add_option("--share", options->model.share, "bytes");
  app.add_option("--share-source", options->model.share_source, "whose they are");
  app.callback([&, options] {
    action = [&environment, options] { return RunRunner(*options, environment); };
  });
}

}  // namespace tonnage::cli
