// Weights stored in blocks of rows against the same weights stored whole, byte for byte.
#include "backend/host/weight_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "memory/buffer.h"
#include "quant/rows.h"

namespace tonnage {
namespace {

constexpr std::int64_t kExperts = 2, kN = 300, kK = 256;

const std::vector<Format>& AllFormats() {
  static const std::vector<Format> formats = [] {
    std::vector<Format> all;
    for (auto kind = FormatKind::kF32; kind < FormatKind::kAffine;
         kind = static_cast<FormatKind>(static_cast<int>(kind) + 1)) {
      all.push_back(Format::Of(kind));
    }
    for (const FormatKind kind :
         {FormatKind::kMxfp4, FormatKind::kMxfp8, FormatKind::kNvfp4, FormatKind::kNvfp4Global}) {
      all.push_back(Format::Of(kind));
    }
    all.push_back(Format::Fp8(128, DType::kBF16));
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      for (const int group : {32, 64, 128})
        all.push_back(Format::Affine(bits, group, DType::kBF16));
    }
    return all;
  }();
  return formats;
}

// Any bytes: what they stand for does not matter here.
class RandomWeight {
 public:
  explicit RandomWeight(const Format& format) : format_(format) {
    const RowBytes row = FormatRowBytes(format, kK).value();
    std::mt19937 random(1);
    for (auto [part, bytes] :
         {std::pair{&data_, row.data}, {&scales_, row.scales}, {&biases_, row.biases}}) {
      part->resize(static_cast<size_t>(kExperts * kN * bytes));
      for (std::uint8_t& byte : *part) byte = static_cast<std::uint8_t>(random());
    }
  }
  WeightView View() const {
    return {format_, kExperts, kN, kK, data_.data(), scales_.data(), biases_.data()};
  }

 private:
  Format format_;
  std::vector<std::uint8_t> data_, scales_, biases_;
};

class Stored {
 public:
  Stored(const Format& format, const std::string& kernel) {
    graph_.weights = {{"w", {kExperts, kN, kK}, 0}};
    const KernelSet kernels = SelectKernels(CpuFeatures::Detect(), kernel);
    ProgramSpec spec;
    spec.graph = &graph_;
    spec.formats = {&format, 1};
    plan_ = PlanWeights(spec, kernels).value();
    store_ = HostWeightStore::Make(graph_, plan_, allocator_, pool_, mutex_).value();
  }
  HostWeightStore& store() { return *store_; }
  Status Complete() const { return store_->CheckComplete(plan_); }
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(store_->Matrix({0}).data),
            static_cast<size_t>(kExperts * plan_.places[0].matrix_bytes)};
  }

 private:
  Graph graph_;
  WeightPlan plan_;
  Ledger ledger_;
  Budget budget_{kGiB, 1 << 20, "the test"};
  HostAllocator allocator_{&ledger_, &budget_};
  ThreadPool pool_{2};
  std::mutex mutex_;
  std::unique_ptr<HostWeightStore> store_;
};

TEST(WeightStore, BlocksGiveTheSameBytesAsTheWhole) {
  for (const Format& format : AllFormats()) {
    const RandomWeight weight(format);
    for (const std::string kernel : {"", "fast_portable", "reference"}) {
      SCOPED_TRACE(format.Name() + " " + kernel);
      Stored whole(format, kernel), blocks(format, kernel);
      ASSERT_TRUE(whole.store().Store({0}, 0, weight.View()).ok());
      // The second expert first, and the last block of each shorter than the others.
      constexpr std::pair<std::int64_t, std::int64_t> kBlocks[] = {
          {kN, 128}, {kN + 128, 128}, {kN + 256, 44}, {0, 128}, {128, 172}};
      for (const auto& [first, rows] : kBlocks) {
        ASSERT_TRUE(blocks.store().Store({0}, first, SliceRows(weight.View(), first, rows)).ok());
      }
      ASSERT_TRUE(whole.Complete().ok());
      ASSERT_TRUE(blocks.Complete().ok());
      EXPECT_TRUE(whole.bytes() == blocks.bytes());
    }
  }
}

TEST(WeightStore, ABlockOutOfPlaceIsNamed) {
  const Format format = Format::Of(FormatKind::kQ8_0);
  const RandomWeight weight(format);
  Stored stored(format, "");
  const auto store = [&](std::int64_t first, std::int64_t rows) {
    return stored.store().Store({0}, first, SliceRows(weight.View(), 0, rows));
  };
  EXPECT_FALSE(store(64, 128).ok());
  EXPECT_FALSE(store(-128, 128).ok());
  EXPECT_FALSE(store(kN + 256, 128).ok());
  EXPECT_TRUE(store(128, 128).ok());
  const Status incomplete = stored.Complete();
  ASSERT_FALSE(incomplete.ok());
  EXPECT_THAT(incomplete.error().message(), testing::HasSubstr("`w`: 128 of its 600 rows"));
}

}  // namespace
}  // namespace tonnage
