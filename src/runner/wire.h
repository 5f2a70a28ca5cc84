// What a server and the process that runs one of its models say to each other over their socket:
// tokens in, tokens out, in frames of bounded length. Both come from one build, so there is no
// version; numbers go as they lie in memory, and moments are of the machine's one steady clock.
// Parsing is total: any bytes give a message whose every field is in range, or an error. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "admission/quote.h"
#include "base/result.h"
#include "engine/request.h"
#include "engine/token_engine.h"
#include "graph/cache_layout.h"
#include "models/model.h"

namespace tonnage::wire {

// A frame is its body's length (4 bytes), the message's kind (1 byte), and the body. The longest
// holds a prompt of 16 million tokens.
inline constexpr std::size_t kMaxBodyBytes = std::size_t{64} << 20;
inline constexpr std::size_t kHeaderBytes = 5;

// ---- To the runner. Each choice of a request is an answer with a number of its own: `id`, `id`
// + 1, and so on.

struct Start {
  std::uint64_t id = 0;
  std::int32_t choices = 1;
  Request request = {};
};
struct Cancel {
  std::uint64_t id = 0;
};

// ---- From the runner. Planned or Failed; any number of Progress; Ready or Failed; then, to each
// Start, Started or Refused, and for each answer its Tokens and one Done. Beats come all the while.

struct Planned {
  Quote quote = {};
  Available available = {};
};
struct Progress {
  Bytes done = 0;
  Bytes total = 0;
  std::string weight = {};  // the next
};
struct Ready {
  ModelInfo info = {};
  CacheSettings cache = {};
  Quote quote = {};
};
struct Failed {
  Error error = Internal("");
};
struct Started {
  std::uint64_t id = 0;
};
struct Refused {
  std::uint64_t id = 0;
  Error error = Internal("");
};
struct Token {
  std::uint64_t id = 0;
  std::int32_t token = 0;
  float logprob = 0;
  std::vector<TokenLogprob> top = {};
};
struct Done {
  std::uint64_t id = 0;
  DoneEvent event = {};
};
struct Beat {
  EngineStatus status = {};
};

// The order gives each its kind on the wire.
using Message = std::variant<Start, Cancel, Planned, Progress, Ready, Failed, Started, Refused,
                             Token, Done, Beat>;

// Appends the message's whole frame. TooLong, and nothing is appended, beyond kMaxBodyBytes.
Status Append(const Message& message, std::string& out);

// Cuts what comes over a socket into messages.
class Reader {
 public:
  void Push(std::string_view bytes) { bytes_.append(bytes); }
  // The next message; nothing when it is not all there. After an error, nothing but errors.
  Result<std::optional<Message>> Next();

 private:
  // What was read; and there is to be room for so many bytes.
  void Forget(std::size_t room);

  std::string bytes_;
  std::size_t read_ = 0;
};

// The same number for requests that ask the same of the model, whatever their deadline.
std::uint64_t KeyOf(const Request& request);

}  // namespace tonnage::wire
