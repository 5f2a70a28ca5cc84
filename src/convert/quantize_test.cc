#include "convert/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "checkpoint/testing.h"
#include "memory/pool.h"

namespace tonnage {
namespace {

namespace fs = std::filesystem;

const std::string kLlama = TONNAGE_SOURCE_DIR "/tests/golden/models/llama";

std::string FileText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class QuantizeTest : public ::testing::Test {
 protected:
  Result<ConvertReport> Write(Allocator& memory, const std::string& name) {
    const OpenedModel model = OpenModel(kLlama).value();
    const MlxOptions options{.rule = QuantRule{.mode = "affine", .bits = 4, .group = 32}};
    return WriteMlxFolder(model, kLlama, Path(name), false, options, threads_, memory, {});
  }
  fs::path Path(const std::string& name) const { return fs::path(folder_.path()) / name; }

  testing::TemporaryFolder folder_;
  ThreadPool threads_{2};
  Ledger ledger_;
};

TEST_F(QuantizeTest, APoolServesEveryLayerWithTheBuffersOfTheFirst) {
  Budget budget(kGiB, 100, "the test");
  HostAllocator host(&ledger_, &budget);
  ASSERT_TRUE(Write(host, "alone").ok());
  Pool pool(host, budget);
  ASSERT_TRUE(Write(pool, "pooled").ok());
  EXPECT_EQ(FileText(Path("alone") / "model.safetensors"),
            FileText(Path("pooled") / "model.safetensors"));
  const PoolStatus status = pool.status();
  EXPECT_EQ(status.live_buffers, 0);
  EXPECT_GT(status.reuses, 2 * status.cached_buffers);
  EXPECT_EQ(ledger_.Of(Owner::kStaging), status.cached_bytes);
}

// What is written under any limit is the same, or it is refused with the numbers and leaves
// nothing.
TEST_F(QuantizeTest, RefusesCleanlyUntilItFits) {
  int refused = 0;
  for (std::int64_t buffers = 0;; ++buffers) {
    ASSERT_LT(buffers, 10);
    Budget budget(kGiB, buffers, "the test", "TONNAGE_BUFFER_LIMIT");
    HostAllocator host(&ledger_, &budget);
    Pool pool(host, budget);
    const auto written = Write(pool, "limited");
    if (written.ok()) break;
    ++refused;
    EXPECT_EQ(written.error().code(), Code::kRefused);
    EXPECT_THAT(written.error().message(), ::testing::HasSubstr("TONNAGE_BUFFER_LIMIT"));
    EXPECT_TRUE(fs::is_empty(folder_.path()));
  }
  EXPECT_EQ(refused, 2) << "what is read and what is written are held at a time";
}

}  // namespace
}  // namespace tonnage
