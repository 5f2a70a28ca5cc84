// What tests of the CPU backend stand on: the test decoder on it, with memory of its own.
#pragma once

#include "backend/cpu/cpu_backend.h"
#include "backend/decoder_for_test.h"

namespace tonnage {

struct CpuHost {
  CpuHost(const CpuBackendOptions& options, Bytes memory)
      : budget(memory, 100, "the test"),
        allocator(&ledger, &budget),
        backend(options, allocator, ledger) {}

  Ledger ledger;
  Budget budget;
  HostAllocator allocator;
  CpuBackend backend;
};

// The decoder ends before its host.
struct Decoder : CpuHost, DecoderModel {
  explicit Decoder(const CpuBackendOptions& options, DType kv_dtype = DType::kF32,
                   Bytes memory = Bytes{1} << 30)
      : CpuHost(options, memory), DecoderModel(backend, kv_dtype) {}
};

}  // namespace tonnage
