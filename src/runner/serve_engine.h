// The runner's side of its socket: starts what the server asks for on the engine, and sends the
// events of its answers as they come. What the server is slow to take stays in the engine's own
// reservation. One thread, the caller's; the engine's threads only wake it.
#pragma once

#include <chrono>
#include <functional>

#include "base/result.h"
#include "engine/token_engine.h"
#include "runner/channel.h"

namespace tonnage {

// What one end of a socket may hold of the process's memory, for a context of so many tokens: the
// quote's runtime has to have it.
Bytes ChannelBytes(std::int64_t context_tokens);

// Until the other side is gone. Then the answers that are left are cancelled. Or until the engine
// has failed and everybody has been told: the error. `beat` is the time between two signs of life,
// which say what `memory` does, where it is given.
Status ServeEngine(TokenEngine& engine, Channel& channel, std::chrono::milliseconds beat,
                   const std::function<MemoryReport()>& memory = {});

// Sends what has been asked to be sent and waits until it is taken, for so long.
void Flush(Channel& channel, std::chrono::milliseconds most);

}  // namespace tonnage
