// The interface to a device: it prices and stores weights, makes a program of a graph, and runs
// steps asynchronously. Prices are pure functions of what they are given. One thread drives a
// program (its engine's stepping thread); programs that share a backend may be driven by different
// threads, and Wait may be called from any. After MakeProgram nothing on the stepping path
// allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "graph/cache_layout.h"
#include "graph/graph.h"
#include "memory/buffer.h"
#include "memory/ledger.h"
#include "quant/format.h"
#include "tensor/device.h"
#include "tensor/precision.h"

namespace tonnage {

// A graph with the storage format of every weight: all that prices need to know.
struct ProgramSpec {
  const Graph* graph = nullptr;
  std::span<const Format> formats;  // by WeightId
  const CacheLayout* cache = nullptr;
  CacheSettings cache_settings;
  StepLimits limits;
  Precision precision = Precision::kFast;
};

// What a program will hold on its device, in bytes, by ledger owner.
struct ProgramPrice {
  Bytes weights = 0;  // as they will lie after repacking
  Bytes kv = 0;
  Bytes arena = 0;
  Bytes workspace = 0;
  Bytes runtime = 0;  // what the backend and the program take beside buffers: threads, launch lists
  std::int64_t weight_buffers = 0;   // MakeWeightStore's
  std::int64_t program_buffers = 0;  // MakeProgram's, beside them
  // Of the buffers.
  Bytes Total() const { return weights + kv + arena + workspace; }
};

// One step's input. `rows` tokens; the rows of one sequence stand together in rising position.
struct StepInputs {
  std::span<const std::int32_t> tokens;      // [rows]
  std::span<const std::int32_t> positions;   // [rows]
  std::span<const std::int32_t> slots;       // [rows], which cache slot each row belongs to
  std::span<const std::int32_t> logit_rows;  // [logit rows], which rows' logits are wanted, rising
  // The first so many rows are tokens that were generated; the rest belong to prompts, which a
  // device may multiply in another way.
  std::int64_t decode_rows = 0;
  // [slots, pages per slot of a full layer]: physical page of each slot's n-th page; -1 where none
  // is reserved yet. Window layers have a fixed ring a slot and no table.
  std::span<const std::int32_t> page_table;
};

// Completion of a submission, in submission order.
struct Event {
  std::uint64_t sequence = 0;
};

// A graph compiled for one device, with its weights, cache, arena and workspace. Made and run by
// its backend only.
class Program {
 public:
  virtual ~Program() = default;
  // [logit rows of the last step, vocab] on the host; valid after Wait, until the next Submit.
  virtual std::span<const float> logits() const = 0;
};

// Where a block of a weight's rows may begin within its matrix: at a multiple of this.
inline constexpr std::int64_t kStoreBlockRows = 128;

// Stores weights while a model loads, then becomes part of a program.
class WeightStore {
 public:
  virtual ~WeightStore() = default;
  // Converts and repacks `rows` into the device's layout: rows from `first_row` on of the weight's
  // [experts * n], the whole weight or any block of it. Each row is stored once; the source may go
  // afterwards. Blocks give the same bytes as the whole.
  virtual Status Store(WeightId id, std::int64_t first_row, const WeightView& rows) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceId device() const = 0;
  virtual const Ledger& ledger() const = 0;

  // The price of `spec`, exactly what MakeWeightStore and MakeProgram will allocate. Unsupported,
  // naming the weight or op, when the device cannot run it.
  virtual Result<ProgramPrice> Price(const ProgramSpec& spec) const = 0;

  // Allocates the place of every weight, a buffer a layer.
  virtual Result<std::unique_ptr<WeightStore>> MakeWeightStore(const ProgramSpec& spec) = 0;
  // Takes the filled store; allocates cache, arena and workspace, one buffer each; makes the launch
  // list.
  virtual Result<std::unique_ptr<Program>> MakeProgram(const ProgramSpec& spec,
                                                       std::unique_ptr<WeightStore> weights) = 0;

  // Queues one step; the inputs are copied before it returns. Inputs out of the limits are
  // InvalidArgument.
  virtual Result<Event> Submit(Program& program, const StepInputs& inputs) = 0;
  // Blocks until the step is done; a device fault in it is returned here.
  virtual Status Wait(Event event) = 0;
};

}  // namespace tonnage
