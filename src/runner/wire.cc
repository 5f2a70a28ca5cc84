#include "runner/wire.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/bytes.h"

namespace tonnage::wire {
namespace {

// Moments and spans of time beyond 146 years are nobody's; without them, differences cannot
// overflow.
constexpr std::int64_t kMostNs = std::int64_t{1} << 62;

// ---- Two archives with one face: every structure is described once, below, for both. ------------

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <typename T>
  requires std::is_arithmetic_v<T>
  void Number(const T& value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
    out_.append(bytes.data(), bytes.size());
  }
  void Text(const std::string& text) {
    Number(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  template <typename E>
  void Choice(const E& value, E) {
    Number(static_cast<std::uint8_t>(value));
  }
  void Span(const Clock::duration& value) { Number(Nanoseconds(value)); }
  void Moment(const Clock::time_point& value) { Number(Nanoseconds(value.time_since_epoch())); }
  template <typename T, typename Each>
  void Optional(const std::optional<T>& value, const Each& each) {
    Number(static_cast<std::uint8_t>(value ? 1 : 0));
    if (value) each(*value);
  }
  template <typename T, typename Each>
  void List(const std::vector<T>& values, std::size_t, const Each& each) {
    Number(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) each(value);
  }
  void Numbers(const std::vector<std::int32_t>& values) {
    Number(static_cast<std::uint32_t>(values.size()));
    out_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  }
  void Fault(const Error& error) {
    Choice(error.code(), Code::kInternal);
    Text(error.message());
    Text(error.field());
  }
  void Health(const Status& status) {
    Number(static_cast<std::uint8_t>(status.ok() ? 0 : 1));
    if (!status.ok()) Fault(status.error());
  }

 private:
  static std::int64_t Nanoseconds(Clock::duration value) {
    return std::clamp(std::chrono::nanoseconds(value).count(), -kMostNs, kMostNs);
  }
  std::string& out_;
};

class Parser {
 public:
  explicit Parser(std::string_view bytes) : bytes_(bytes) {}
  // Everything was there and in range, and nothing is left.
  bool done() const { return ok_ && bytes_.empty(); }

  template <typename T>
  requires std::is_arithmetic_v<T>
  void Number(T& value) {
    if (!Has(sizeof(T))) return;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
  }
  void Text(std::string& text) {
    const std::size_t size = Size(1);
    text.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
  }
  template <typename E>
  void Choice(E& value, E last) {
    std::uint8_t number = 0;
    Number(number);
    if (number > static_cast<std::uint8_t>(last)) return Fail();
    value = static_cast<E>(number);
  }
  void Span(Clock::duration& value) { value = Nanoseconds(); }
  void Moment(Clock::time_point& value) { value = Clock::time_point(Nanoseconds()); }
  template <typename T, typename Each>
  void Optional(std::optional<T>& value, const Each& each) {
    if (Flag()) each(value.emplace());
  }
  // Each value takes `least_bytes` or more, so that a list is never longer than what came.
  template <typename T, typename Each>
  void List(std::vector<T>& values, std::size_t least_bytes, const Each& each) {
    values.resize(Size(least_bytes));
    for (T& value : values) each(value);
  }
  void Numbers(std::vector<std::int32_t>& values) {
    values.resize(Size(sizeof(values[0])));
    const std::size_t bytes = values.size() * sizeof(values[0]);
    if (bytes > 0) std::memcpy(values.data(), bytes_.data(), bytes);
    bytes_.remove_prefix(bytes);
  }
  void Fault(Error& error) {
    Code code = Code::kInternal;
    std::string message, field;
    Choice(code, Code::kInternal);
    Text(message);
    Text(field);
    error = Error(code, std::move(message)).About(std::move(field));
  }
  void Health(Status& status) {
    if (!Flag()) return;
    Error error = Internal("");
    Fault(error);
    status = error;
  }

 private:
  void Fail() {
    ok_ = false;
    bytes_ = {};
  }
  bool Has(std::size_t bytes) {
    if (bytes > bytes_.size()) Fail();
    return ok_;
  }
  bool Flag() {
    std::uint8_t flag = 0;
    Number(flag);
    if (flag > 1) Fail();
    return ok_ && flag == 1;
  }
  std::size_t Size(std::size_t least_bytes) {
    std::uint32_t size = 0;
    Number(size);
    return Has(std::size_t{size} * least_bytes) ? size : 0;
  }
  Clock::duration Nanoseconds() {
    std::int64_t ns = 0;
    Number(ns);
    if (ns < -kMostNs || ns > kMostNs) Fail();
    return ok_ ? std::chrono::nanoseconds(ns) : Clock::duration();
  }

  std::string_view bytes_;
  bool ok_ = true;
};

// ---- What each structure consists of ------------------------------------------------------------

// T is U, or const U for a writer.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <typename A, Is<LogitBias> T>
void Fields(A& a, T& v) {
  a.Number(v.token);
  a.Number(v.bias);
}

template <typename A, Is<SamplingParams> T>
void Fields(A& a, T& v) {
  a.Number(v.temperature);
  a.Number(v.top_k);
  a.Number(v.top_p);
  a.Number(v.min_p);
  a.Number(v.typical_p);
  a.Number(v.repetition_penalty);
  a.Number(v.presence_penalty);
  a.Number(v.frequency_penalty);
  a.Number(v.repeat_last_n);
  a.Optional(v.seed, [&](auto& seed) { a.Number(seed); });
  a.List(v.logit_bias, 8, [&](auto& bias) { Fields(a, bias); });
}

// Without the deadline, which is not what the model is asked for.
template <typename A, Is<Request> T>
void Question(A& a, T& v) {
  a.Numbers(v.prompt);
  Fields(a, v.sampling);
  a.Optional(v.max_tokens, [&](auto& tokens) { a.Number(tokens); });
  a.Numbers(v.stop_tokens);
  a.Optional(v.logprobs, [&](auto& count) { a.Number(count); });
}

template <typename A, Is<ModelInfo> T>
void Fields(A& a, T& v) {
  a.Text(v.architecture);
  a.Number(v.layers);
  a.Number(v.hidden);
  a.Number(v.vocab);
  a.Number(v.context_limit);
}

template <typename A, Is<CacheSettings> T>
void Fields(A& a, T& v) {
  a.Number(v.context_tokens);
  a.Number(v.slots);
  a.Number(v.max_slice_rows);
  a.Choice(v.kv_dtype, DType::kU8);
}

template <typename A, Is<Quote> T>
void Fields(A& a, T& v) {
  a.Choice(v.device.kind, DeviceKind::kSim);
  a.Number(v.device.index);
  for (auto* term : {&v.weights, &v.kv, &v.state, &v.arena, &v.workspace, &v.staging,
                     &v.prefix_cache, &v.runtime, &v.buffers}) {
    a.Number(*term);
  }
}

template <typename A, Is<DoneEvent> T>
void Fields(A& a, T& v) {
  a.Choice(v.reason, FinishReason::kError);
  a.Optional(v.stop_token, [&](auto& token) { a.Number(token); });
  Status error;  // an optional Error has no empty one to parse into
  if (v.error) error = *v.error;
  a.Health(error);
  if constexpr (!std::is_const_v<T>) {
    if (!error.ok()) v.error = error.error();
  }
  a.Number(v.usage.prompt_tokens);
  a.Number(v.usage.generated_tokens);
  a.Span(v.usage.queued);
  a.Span(v.usage.prefill);
  a.Span(v.usage.decode);
}

template <typename A, Is<MemoryReport> T>
void Fields(A& a, T& v) {
  for (auto& bytes : v.by_owner) a.Number(bytes);
  for (auto* number : {&v.held_bytes, &v.peak_bytes, &v.budget.limit_bytes, &v.budget.used_bytes,
                       &v.budget.peak_bytes, &v.budget.limit_buffers, &v.budget.used_buffers,
                       &v.budget.peak_buffers, &v.cached_buffers, &v.cached_bytes}) {
    a.Number(*number);
  }
  a.Choice(v.pressure, Pressure::kAdmissionsClosed);
}

template <typename A, Is<EngineStatus> T>
void Fields(A& a, T& v) {
  for (auto* count :
       {&v.running, &v.waiting, &v.waiting_tokens, &v.free_slots, &v.free_pages, &v.pages}) {
    a.Number(*count);
  }
  a.Number(v.steps);
  a.Moment(v.stepped_at);
  a.Span(v.mean_run);
  a.Health(v.health);
  Fields(a, v.memory);
}

template <typename A, Is<Start> T>
void Fields(A& a, T& v) {
  a.Number(v.id);
  a.Number(v.choices);
  Question(a, v.request);
  a.Optional(v.request.deadline, [&](auto& deadline) { a.Moment(deadline); });
}
template <typename A, typename T>
requires(Is<T, Cancel> || Is<T, Started>) void Fields(A& a, T& v) { a.Number(v.id); }
template <typename A, Is<Planned> T>
void Fields(A& a, T& v) {
  Fields(a, v.quote);
  a.Number(v.available.bytes);
  a.Text(v.available.source);
  a.Number(v.available.buffers);
  a.Text(v.available.buffers_source);
}
template <typename A, Is<Progress> T>
void Fields(A& a, T& v) {
  a.Number(v.done);
  a.Number(v.total);
  a.Text(v.weight);
}
template <typename A, Is<Ready> T>
void Fields(A& a, T& v) {
  Fields(a, v.info);
  Fields(a, v.cache);
  Fields(a, v.quote);
}
template <typename A, Is<Failed> T>
void Fields(A& a, T& v) {
  a.Fault(v.error);
}
template <typename A, Is<Refused> T>
void Fields(A& a, T& v) {
  a.Number(v.id);
  a.Fault(v.error);
}
template <typename A, Is<Token> T>
void Fields(A& a, T& v) {
  a.Number(v.id);
  a.Number(v.token);
  a.Number(v.logprob);
  a.List(v.top, 8, [&](auto& entry) {
    a.Number(entry.token);
    a.Number(entry.logprob);
  });
}
template <typename A, Is<Done> T>
void Fields(A& a, T& v) {
  a.Number(v.id);
  Fields(a, v.event);
}
template <typename A, Is<Beat> T>
void Fields(A& a, T& v) {
  Fields(a, v.status);
}

// ---- Frames -------------------------------------------------------------------------------------

template <std::size_t I = 0>
std::optional<Message> Parse(std::size_t kind, std::string_view body) {
  if constexpr (I == std::variant_size_v<Message>) {
    return std::nullopt;
  } else {
    if (kind != I) return Parse<I + 1>(kind, body);
    std::variant_alternative_t<I, Message> value;
    Parser parser(body);
    Fields(parser, value);
    if (!parser.done()) return std::nullopt;
    return Message(std::in_place_index<I>, std::move(value));
  }
}

}  // namespace

Status Append(const Message& message, std::string& out) {
  const std::size_t begin = out.size();
  Writer writer(out);
  writer.Number(std::uint32_t{0});
  writer.Number(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& value) { Fields(writer, value); }, message);
  const std::size_t body = out.size() - begin - kHeaderBytes;
  if (body > kMaxBodyBytes) {
    out.resize(begin);
    return TooLong("a message of {} bytes is longer than the {} that a runner takes",
                   FormatThousands(static_cast<std::int64_t>(body)),
                   FormatThousands(static_cast<std::int64_t>(kMaxBodyBytes)));
  }
  const auto length = static_cast<std::uint32_t>(body);
  std::memcpy(out.data() + begin, &length, sizeof(length));
  return {};
}

Result<std::optional<Message>> Reader::Next() {
  const std::string_view rest = std::string_view(bytes_).substr(read_);
  if (rest.size() < kHeaderBytes) {
    Forget(0);
    return std::optional<Message>();
  }
  std::uint32_t length = 0;
  std::memcpy(&length, rest.data(), sizeof(length));
  const auto kind = static_cast<std::uint8_t>(rest[4]);
  if (length > kMaxBodyBytes) return Internal("a frame of {} bytes", length);
  if (rest.size() - kHeaderBytes < length) {
    Forget(kHeaderBytes + length);
    return std::optional<Message>();
  }
  std::optional<Message> message = Parse(kind, rest.substr(kHeaderBytes, length));
  if (!message) return Internal("a broken frame of kind {} and {} bytes", kind, length);
  read_ += kHeaderBytes + length;
  return message;
}

void Reader::Forget(std::size_t room) {
  constexpr std::size_t kKeptBytes = 64 << 10;
  if (read_ > 0) {
    bytes_.erase(0, std::exchange(read_, 0));
    // A long frame leaves no long buffer behind.
    if (bytes_.capacity() > kKeptBytes) bytes_.shrink_to_fit();
  }
  // A long frame, once it is clear that it comes, is not copied as it grows.
  if (bytes_.size() >= kKeptBytes) bytes_.reserve(room);
}

std::uint64_t KeyOf(const Request& request) {
  std::string bytes;
  Writer writer(bytes);
  Question(writer, request);
  return std::hash<std::string>()(bytes);
}

}  // namespace tonnage::wire
