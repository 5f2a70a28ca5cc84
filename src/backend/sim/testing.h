// What tests of the simulated device stand on: a small profile on which limits bite, and the test
// decoder on it.
#pragma once

#include <memory>
#include <utility>

#include "backend/decoder_for_test.h"
#include "backend/sim/sim_backend.h"

namespace tonnage {

// A millionth of a device, on which a step of the test decoder takes some milliseconds.
inline SimProfile SmallProfile() {
  return {.name = "small",
          .description = "for tests",
          .memory_bytes = 4 * kMiB,
          .page_bytes = 4 * kKiB,
          .buffers = 100,
          .context_bytes = 8 * kKiB,
          .watchdog_ms = 5,
          .fence_ms = 1,
          .speed = {.operations_per_s = 10e9,
                    .bytes_per_s = 1e9,
                    .copy_bytes_per_s = 10e6,
                    .launch_ms = 0.001,
                    .submission_ms = 0.01},
          .submission = {.bytes = 1 * kMiB, .launches = 20, .ms = 2}};
}

struct SimHost {
  SimHost(const SimDeviceOptions& options, const SimBackendOptions& backend_options)
      : device(options), backend(device, backend_options) {}
  SimDevice device;
  SimBackend backend;
};

// The decoder ends before its device.
struct SimDecoder : SimHost, DecoderModel {
  explicit SimDecoder(const SimDeviceOptions& options)
      : SimDecoder(options, {.limits = options.profile.submission}) {}
  SimDecoder(const SimDeviceOptions& options, const SimBackendOptions& backend_options)
      : SimHost(options, backend_options), DecoderModel(backend) {}

  // Ledger, budget and the device's own count of what exists.
  void ExpectBalance() const {
    EXPECT_EQ(device.ledger().Total(), device.allocated_bytes());
    EXPECT_EQ(device.budget().used_bytes(), device.allocated_bytes());
    EXPECT_EQ(device.budget().used_buffers(), device.allocated_buffers());
  }
  void ExpectEmpty() const {
    EXPECT_EQ(device.allocated_bytes(), 0);
    EXPECT_EQ(device.allocated_buffers(), 0);
    ExpectBalance();
  }
};

}  // namespace tonnage
