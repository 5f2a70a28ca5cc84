// This machine as a device for scenario tests: memory with a ledger and a budget, a CPU backend on
// it, and engines made of checkpoints. Engines end before their host.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/safetensors.h"
#include "engine/loader.h"
#include "memory/buffer.h"

namespace tonnage {

class TestHost {
 public:
  explicit TestHost(Bytes limit_bytes = kGiB, std::int64_t limit_buffers = 1 << 20)
      : budget_(limit_bytes, limit_buffers, "the test", "the test"),
        allocator_(&ledger_, &budget_) {}

  const Ledger& ledger() const { return ledger_; }
  CpuBackend& backend() { return backend_; }
  const Budget& budget() const { return budget_; }
  Available available() const {
    return {budget_.limit_bytes(), budget_.source(), budget_.limit_buffers(),
            budget_.buffers_source()};
  }

  Result<LoadedModel> Load(const OpenedModel& model, const LoadSettings& settings,
                           const LoadHooks& hooks = {}) {
    return LoadModel(model, backend_, allocator_, settings, available(), hooks);
  }
  Result<std::unique_ptr<Engine>> LoadEngine(const std::string& path,
                                             const LoadSettings& settings) {
    ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(path));
    ASSIGN_OR_RETURN(LoadedModel loaded, Load(model, settings));
    return std::make_unique<Engine>(std::move(loaded));
  }

 private:
  Ledger ledger_;
  Budget budget_;
  HostAllocator allocator_;
  CpuBackend backend_{{.features = CpuFeatures::Detect(), .threads = 2}, allocator_, ledger_};
};

inline const std::string kGolden = TONNAGE_SOURCE_DIR "/tests/golden/";

// What the reference implementation says about one golden model.
struct Golden {
  std::vector<std::int32_t> input_ids;   // [T]
  std::vector<float> logits;             // [T, vocab]
  std::vector<std::int32_t> greedy_ids;  // continues input_ids
};

template <typename T>
std::vector<T> GoldenTensor(const Safetensors& file, std::string_view name) {
  const SafetensorsTensor* tensor = file.Find(name);
  CHECK(tensor != nullptr) << name;
  std::vector<T> values(tensor->data.size() / sizeof(T));
  std::memcpy(values.data(), tensor->data.data(), values.size() * sizeof(T));
  return values;
}

// From a folder with a golden.safetensors.
inline Golden ReadGolden(const std::string& folder) {
  const auto file = MappedFile::Open(folder + "/golden.safetensors");
  const auto tensors = ParseSafetensors(file.value().bytes());
  return {GoldenTensor<std::int32_t>(tensors.value(), "input_ids"),
          GoldenTensor<float>(tensors.value(), "logits"),
          GoldenTensor<std::int32_t>(tensors.value(), "greedy_ids")};
}

// Every golden checkpoint, in both spellings where there are two: paths and the golden's name.
struct GoldenCheckpoint {
  std::string name;
  std::string path;
};
inline std::vector<GoldenCheckpoint> GoldenCheckpoints() {
  std::vector<GoldenCheckpoint> found;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden + "models")) {
    found.push_back({entry.path().filename(), entry.path()});
  }
  for (const auto& entry : std::filesystem::directory_iterator(kGolden + "gguf")) {
    found.push_back({entry.path().stem(), entry.path()});
  }
  return found;
}

}  // namespace tonnage
