// Tonnage as a library: load a language model, ask it, get its answer as it comes. Everything is
// weighed before it is accepted: a load that does not fit the memory is refused with the numbers,
// and so is a request that does not fit the context. Nothing throws. A LanguageModel may be used
// from any number of threads at once, as many requests at a time as it has slots; others wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tonnage {
inline namespace v1 {

enum class FailureCode {
  kInvalidArgument,  // an option or a request that can never be met
  kTooLong,          // prompt and answer exceed the context
  kUnreadable,       // a file is missing, cut short or malformed
  kUnsupported,      // well formed, but asks for something that is not there
  kRefused,          // does not fit the memory
  kBusy,             // too many requests wait already
  kUnavailable,      // the device or the deadline
  kCancelled,
  kInternal,
};

struct Failure {
  FailureCode code = FailureCode::kInternal;
  std::string message;  // what is wrong, and what to do
};

// A value, or why there is none.
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::move(value)) {}
  Expected(Failure failure) : state_(std::move(failure)) {}
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

struct ModelOptions {
  std::optional<std::int64_t> context_tokens = {};  // none: the model's own limit, at most 8,192
  std::int64_t slots = 1;                           // requests that run at a time
  bool exact = false;                               // float32 activations, at the price of speed
  int threads = 0;                                  // 0: one a usable core
  std::string memory_limit = {};                    // "8G": lowers what the system allows
  std::string buffer_limit = {};                    // "1000": lowers how many buffers may be held
  std::string store = {};  // where models are looked for by name; empty: paths only
  // Called while loading, with the bytes that are in place and those that there are; false stops.
  std::function<bool(std::int64_t done, std::int64_t total)> on_progress = {};
};

// What a load would hold in memory, in bytes.
struct PlanRow {
  std::int64_t context_tokens = 0;
  std::int64_t weights = 0, kv = 0, arena = 0, workspace = 0, staging = 0;
  std::int64_t runtime = 0;    // threads, requests and what keeps track of them
  std::int64_t total = 0;      // at the worst moment
  std::int64_t available = 0;  // what may be used
  std::int64_t buffers = 0;    // allocations, at the worst moment
  std::int64_t available_buffers = 0;
  std::string refusal = {};  // why it does not fit, and what does; empty if it fits
};

// What a loaded model holds, and what it may.
struct MemoryUse {
  std::int64_t held_bytes = 0;  // the sum of the ledger's lines below
  std::int64_t peak_bytes = 0;  // the most that it was
  std::int64_t limit_bytes = 0;
  std::int64_t live_buffers = 0, live_bytes = 0;
  std::int64_t cached_buffers = 0, cached_bytes = 0;  // freed, and kept for reuse
  std::int64_t peak_buffers = 0;
  std::int64_t limit_buffers = 0;
  std::int64_t weights = 0, kv = 0, state = 0, arena = 0, workspace = 0, staging = 0;
  std::int64_t prefix_cache = 0, runtime = 0;
};

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

struct AnswerOptions {
  std::optional<std::int64_t> max_tokens = {};  // none: what the context leaves
  double temperature = 0.7;                     // 0: always the likeliest token
  std::int64_t top_k = 0;                       // 0: off
  double top_p = 0.9;                           // 1: off
  double min_p = 0;                             // 0: off
  double repetition_penalty = 1;                // 1: off
  std::optional<std::uint64_t> seed = {};       // the same seed gives the same answer
  std::vector<std::string> stop = {};           // the answer ends before any of these
};

struct Answer {
  std::string text;
  std::string finish_reason;  // "stop", "length" or "cancelled"
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
  double prompt_tokens_per_second = 0;
  double generated_tokens_per_second = 0;
};

// The next part of an answer; false stops it.
using TextCallback = std::function<bool(std::string_view text)>;

class LanguageModel {
 public:
  // `model` is a folder with a Hugging Face or MLX checkpoint, a .safetensors file beside its
  // config.json, a GGUF file, or a name in the store.
  static Expected<LanguageModel> Load(const std::string& model, const ModelOptions& options = {});

  // What Load would take, without reading a byte of weights: a row for the context that is asked
  // for, or, where none is, one for 8,192 tokens, twice that, and so on to the model's limit.
  static Expected<std::vector<PlanRow>> Plan(const std::string& model,
                                             const ModelOptions& options = {});

  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  // Answers a conversation, or continues a text. Blocks until the answer is complete; its parts go
  // to `on_text` as they come.
  Expected<Answer> Chat(const std::vector<ChatMessage>& messages, const AnswerOptions& options = {},
                        const TextCallback& on_text = {}) const;
  Expected<Answer> Complete(const std::string& prompt, const AnswerOptions& options = {},
                            const TextCallback& on_text = {}) const;

  // With `special`, the tokens that the model's files add to a text are added; without it, special
  // tokens are left out of the text.
  Expected<std::vector<std::int32_t>> Tokenize(std::string_view text, bool special = false) const;
  Expected<std::string> Detokenize(const std::vector<std::int32_t>& tokens,
                                   bool special = false) const;

  MemoryUse Memory() const;

  std::string architecture() const;
  std::int64_t context_tokens() const;
  std::int64_t vocabulary() const;

 private:
  struct Impl;
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace v1
}  // namespace tonnage
