#include "tonnage/c.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tonnage/tonnage.h"

struct tonnage_model {
  tonnage::LanguageModel model;
};

namespace {

using tonnage::Expected;
using tonnage::Failure;
using tonnage::FailureCode;

// Nothing where a call did what it was asked for.
using Outcome = std::optional<Failure>;

constexpr size_t kFieldBytes = 8;
static_assert(sizeof(size_t) == kFieldBytes && sizeof(void*) == kFieldBytes);
static_assert(TONNAGE_INTERNAL == 1 + static_cast<int>(FailureCode::kInternal));
static_assert(TONNAGE_REFUSED == 1 + static_cast<int>(FailureCode::kRefused));

Outcome Invalid(std::string message) {
  return Failure{FailureCode::kInvalidArgument, std::move(message)};
}

// Whether some version of the struct has that size: the size's own field and `least_fields` more at
// least, whole fields only.
bool IsSize(size_t size, size_t most_bytes, size_t least_fields) {
  return size >= (1 + least_fields) * kFieldBytes && size <= most_bytes && size % kFieldBytes == 0;
}

template <typename T>
Outcome CheckSize(const T* given, const char* name, size_t least_fields = 1) {
  if (given == nullptr || IsSize(given->size, sizeof(T), least_fields)) return std::nullopt;
  return Invalid(std::string(name) + ": the size is " + std::to_string(given->size) +
                 ", but must be sizeof of this struct, which is " + std::to_string(sizeof(T)) +
                 " here and may be less in a program of an older version");
}

// What the caller has of a struct whose size was checked, over the defaults.
template <typename T>
T Read(const T* given, T defaults) {
  if (given != nullptr) std::memcpy(&defaults, given, given->size);
  return defaults;
}

// As much of `value` as the caller has room for.
template <typename T>
void Write(T* out, T value) {
  if (out == nullptr) return;
  value.size = out->size;
  std::memcpy(out, &value, out->size);
}

void WriteError(tonnage_error* error, std::int64_t code, std::string_view message) {
  if (error == nullptr) return;
  error->code = code;
  const size_t room = error->size - offsetof(tonnage_error, message) - 1;
  size_t length = std::min(message.size(), room);
  // Not within a character of several bytes.
  while (length > 0 && length < message.size() && (message[length] & 0xC0) == 0x80) --length;
  std::memcpy(error->message, message.data(), length);
  error->message[length] = '\0';
}

// Runs a call: whatever it comes to is a code and fills `error`.
template <typename Work>
std::int64_t Call(tonnage_error* error, Work work) {
  if (error != nullptr && !IsSize(error->size, sizeof(tonnage_error), 2))
    return TONNAGE_INVALID_ARGUMENT;
  try {
    const Outcome failure = work();
    const std::int64_t code = failure ? 1 + static_cast<std::int64_t>(failure->code) : 0;
    WriteError(error, code, failure ? std::string_view(failure->message) : "");
    return code;
  } catch (const std::bad_alloc&) {
    WriteError(error, TONNAGE_REFUSED, "the system gave no more memory");
    return TONNAGE_REFUSED;
  } catch (const std::exception& exception) {
    WriteError(error, TONNAGE_INTERNAL, exception.what());
  } catch (...) {
    WriteError(error, TONNAGE_INTERNAL, "an exception of unknown kind");
  }
  return TONNAGE_INTERNAL;
}

std::string Text(const char* text) { return text == nullptr ? std::string() : std::string(text); }

// ---- Loading ------------------------------------------------------------------------------------

Outcome ReadOptions(const char* name, const tonnage_model_options* options,
                    tonnage::ModelOptions& wanted) {
  if (name == nullptr) return Invalid("no model is named");
  if (auto wrong = CheckSize(options, "tonnage_model_options")) return wrong;
  const tonnage_model_options given = Read(options, tonnage_model_options{});
  if (given.threads < 0 || given.threads > 1024)
    return Invalid("threads is " + std::to_string(given.threads) + ", but must be from 0 to 1024");
  if (given.context_tokens != 0) wanted.context_tokens = given.context_tokens;
  if (given.slots != 0) wanted.slots = given.slots;
  wanted.exact = given.exact != 0;
  wanted.threads = static_cast<int>(given.threads);
  wanted.memory_limit = Text(given.memory_limit);
  wanted.buffer_limit = Text(given.buffer_limit);
  wanted.store = Text(given.store);
  if (given.progress != nullptr) {
    wanted.on_progress = [progress = given.progress, user = given.progress_user](
                             std::int64_t done, std::int64_t total) {
      return progress(user, done, total) == 0;
    };
  }
  return std::nullopt;
}

Outcome Plan(const char* name, const tonnage_model_options* options, tonnage_plan_visitor visit,
             void* user) {
  if (visit == nullptr) return Invalid("there is nobody to be told");
  tonnage::ModelOptions wanted;
  if (auto wrong = ReadOptions(name, options, wanted)) return wrong;
  const auto rows = tonnage::LanguageModel::Plan(name, wanted);
  if (!rows) return rows.failure();
  for (const tonnage::PlanRow& row : *rows) {
    const tonnage_plan_row told = {.size = sizeof(told),
                                   .context_tokens = row.context_tokens,
                                   .weights_bytes = row.weights,
                                   .kv_bytes = row.kv,
                                   .arena_bytes = row.arena,
                                   .workspace_bytes = row.workspace,
                                   .staging_bytes = row.staging,
                                   .runtime_bytes = row.runtime,
                                   .total_bytes = row.total,
                                   .available_bytes = row.available,
                                   .buffers = row.buffers,
                                   .available_buffers = row.available_buffers,
                                   .fits = row.refusal.empty() ? 1 : 0};
    if (visit(user, &told, row.refusal.c_str()) != 0) break;
  }
  return std::nullopt;
}

Outcome Load(const char* name, const tonnage_model_options* options, tonnage_model** loaded) {
  if (loaded == nullptr) return Invalid("there is no place for the loaded model");
  *loaded = nullptr;
  tonnage::ModelOptions wanted;
  if (auto wrong = ReadOptions(name, options, wanted)) return wrong;
  Expected<tonnage::LanguageModel> model = tonnage::LanguageModel::Load(name, wanted);
  if (!model) return model.failure();
  *loaded = new tonnage_model{std::move(*model)};
  return std::nullopt;
}

// ---- Answers ------------------------------------------------------------------------------------

constexpr tonnage_answer_options kAnswerDefaults = {.size = sizeof(tonnage_answer_options),
                                                    .max_tokens = 0,
                                                    .temperature = 0.7,
                                                    .top_k = 0,
                                                    .top_p = 0.9,
                                                    .min_p = 0,
                                                    .repetition_penalty = 1,
                                                    .has_seed = 0,
                                                    .seed = 0,
                                                    .stop = nullptr,
                                                    .stop_count = 0};

tonnage::AnswerOptions ToOptions(const tonnage_answer_options& given) {
  tonnage::AnswerOptions options{.temperature = given.temperature,
                                 .top_k = given.top_k,
                                 .top_p = given.top_p,
                                 .min_p = given.min_p,
                                 .repetition_penalty = given.repetition_penalty};
  if (given.max_tokens != 0) options.max_tokens = given.max_tokens;
  if (given.has_seed != 0) options.seed = given.seed;
  for (size_t i = 0; given.stop != nullptr && i < given.stop_count; ++i)
    options.stop.push_back(Text(given.stop[i]));
  return options;
}

std::int64_t FinishOf(std::string_view reason) {
  if (reason == "length") return TONNAGE_FINISH_LENGTH;
  return reason == "cancelled" ? TONNAGE_FINISH_CANCELLED : TONNAGE_FINISH_STOP;
}

// `ask` is given the options and the callback, and returns the answer.
template <typename Ask>
Outcome AnswerWith(const tonnage_model* model, const tonnage_answer_options* options,
                   tonnage_text text, void* user, tonnage_answer* answer, Ask ask) {
  if (model == nullptr) return Invalid("there is no model");
  if (auto wrong = CheckSize(options, "tonnage_answer_options")) return wrong;
  if (auto wrong = CheckSize(answer, "tonnage_answer")) return wrong;
  tonnage::TextCallback on_text;
  if (text != nullptr) {
    on_text = [=](std::string_view part) { return text(user, part.data(), part.size()) == 0; };
  }
  const Expected<tonnage::Answer> got = ask(ToOptions(Read(options, kAnswerDefaults)), on_text);
  if (!got) return got.failure();
  Write(answer, tonnage_answer{.size = 0,
                               .finish = FinishOf(got->finish_reason),
                               .prompt_tokens = got->prompt_tokens,
                               .generated_tokens = got->generated_tokens,
                               .prompt_tokens_per_second = got->prompt_tokens_per_second,
                               .generated_tokens_per_second = got->generated_tokens_per_second});
  return std::nullopt;
}

// The caller's elements are as large as its version of the struct is.
Outcome ReadMessages(const tonnage_message* messages, size_t count,
                     std::vector<tonnage::ChatMessage>& out) {
  if (messages == nullptr || count == 0) return Invalid("there is no message");
  const auto* at = reinterpret_cast<const char*>(messages);
  for (size_t i = 0; i < count; ++i, at += messages->size) {
    const auto* message = reinterpret_cast<const tonnage_message*>(at);
    if (auto wrong = CheckSize(message, "tonnage_message", 2)) return wrong;
    if (message->size != messages->size) return Invalid("messages are not of one size");
    out.push_back({Text(message->role), Text(message->content)});
  }
  return std::nullopt;
}

// ---- Tokens -------------------------------------------------------------------------------------

template <typename From, typename To>
Outcome WriteArray(const From& from, To* to, size_t capacity, size_t* count) {
  if (count == nullptr) return Invalid("there is no place for the count");
  if (to == nullptr && capacity > 0) return Invalid("there is no place for what comes out");
  *count = from.size();
  std::copy_n(from.begin(), std::min(from.size(), capacity), to);
  return std::nullopt;
}

tonnage_memory ToMemory(const tonnage::MemoryUse& use) {
  return {.size = 0,
          .held_bytes = use.held_bytes,
          .peak_bytes = use.peak_bytes,
          .limit_bytes = use.limit_bytes,
          .live_buffers = use.live_buffers,
          .cached_buffers = use.cached_buffers,
          .peak_buffers = use.peak_buffers,
          .limit_buffers = use.limit_buffers,
          .live_bytes = use.live_bytes,
          .cached_bytes = use.cached_bytes,
          .weights_bytes = use.weights,
          .kv_bytes = use.kv,
          .state_bytes = use.state,
          .arena_bytes = use.arena,
          .workspace_bytes = use.workspace,
          .staging_bytes = use.staging,
          .prefix_cache_bytes = use.prefix_cache,
          .runtime_bytes = use.runtime};
}

}  // namespace

extern "C" {

int64_t tonnage_abi_version(void) { return TONNAGE_ABI_VERSION; }

int64_t tonnage_model_load(const char* model, const tonnage_model_options* options,
                           tonnage_model** loaded, tonnage_error* error) {
  return Call(error, [&] { return Load(model, options, loaded); });
}

void tonnage_model_free(tonnage_model* model) { delete model; }

int64_t tonnage_plan(const char* model, const tonnage_model_options* options,
                     tonnage_plan_visitor visit, void* user, tonnage_error* error) {
  return Call(error, [&] { return Plan(model, options, visit, user); });
}

int64_t tonnage_answer_options_init(tonnage_answer_options* options, size_t size) {
  if (options == nullptr || !IsSize(size, sizeof(*options), 1)) return TONNAGE_INVALID_ARGUMENT;
  options->size = size;
  Write(options, kAnswerDefaults);
  return TONNAGE_OK;
}

int64_t tonnage_chat(const tonnage_model* model, const tonnage_message* messages, size_t count,
                     const tonnage_answer_options* options, tonnage_text text, void* user,
                     tonnage_answer* answer, tonnage_error* error) {
  return Call(error, [&]() -> Outcome {
    std::vector<tonnage::ChatMessage> conversation;
    if (auto wrong = ReadMessages(messages, count, conversation)) return wrong;
    return AnswerWith(model, options, text, user, answer,
                      [&](const tonnage::AnswerOptions& wanted, const tonnage::TextCallback& part) {
                        return model->model.Chat(conversation, wanted, part);
                      });
  });
}

int64_t tonnage_generate(const tonnage_model* model, const char* prompt,
                         const tonnage_answer_options* options, tonnage_text text, void* user,
                         tonnage_answer* answer, tonnage_error* error) {
  return Call(error, [&] {
    return AnswerWith(model, options, text, user, answer,
                      [&](const tonnage::AnswerOptions& wanted, const tonnage::TextCallback& part) {
                        return model->model.Complete(Text(prompt), wanted, part);
                      });
  });
}

int64_t tonnage_tokenize(const tonnage_model* model, const char* text, size_t length, int special,
                         int32_t* tokens, size_t capacity, size_t* count, tonnage_error* error) {
  return Call(error, [&]() -> Outcome {
    if (model == nullptr) return Invalid("there is no model");
    if (text == nullptr && length > 0) return Invalid("there is no text");
    const auto got = model->model.Tokenize(std::string_view(text, length), special != 0);
    if (!got) return got.failure();
    return WriteArray(*got, tokens, capacity, count);
  });
}

int64_t tonnage_detokenize(const tonnage_model* model, const int32_t* tokens, size_t token_count,
                           int special, char* text, size_t capacity, size_t* count,
                           tonnage_error* error) {
  return Call(error, [&]() -> Outcome {
    if (model == nullptr) return Invalid("there is no model");
    if (tokens == nullptr && token_count > 0) return Invalid("there are no tokens");
    const auto got = model->model.Detokenize({tokens, tokens + token_count}, special != 0);
    if (!got) return got.failure();
    return WriteArray(*got, text, capacity, count);
  });
}

int64_t tonnage_model_memory(const tonnage_model* model, tonnage_memory* memory,
                             tonnage_error* error) {
  return Call(error, [&]() -> Outcome {
    if (model == nullptr || memory == nullptr) return Invalid("there is no model or no place");
    if (auto wrong = CheckSize(memory, "tonnage_memory")) return wrong;
    Write(memory, ToMemory(model->model.Memory()));
    return std::nullopt;
  });
}

int64_t tonnage_model_describe(const tonnage_model* model, tonnage_model_info* info,
                               tonnage_error* error) {
  return Call(error, [&]() -> Outcome {
    if (model == nullptr || info == nullptr) return Invalid("there is no model or no place");
    if (auto wrong = CheckSize(info, "tonnage_model_info")) return wrong;
    Write(info, tonnage_model_info{.size = 0,
                                   .context_tokens = model->model.context_tokens(),
                                   .vocabulary = model->model.vocabulary()});
    return std::nullopt;
  });
}

}  // extern "C"
