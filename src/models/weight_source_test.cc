#include "models/weight_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "models/open.h"
#include "models/test_checkpoint.h"
#include "models/test_configs.h"

namespace tonnage {
namespace {

using ::testing::HasSubstr;

// One expert layer of experts of [32, 64] each, in a graph that has nothing else to resolve.
Graph Experts(std::int64_t count = 4) {
  Graph graph;
  graph.weights = {{"model.layers.0.mlp.experts.gate_proj.weight", {count, 32, 64}, 0},
                   {"model.layers.0.mlp.experts.up_proj.weight", {count, 32, 64}, 0},
                   {"model.layers.0.mlp.experts.down_proj.weight", {count, 64, 32}, 0}};
  return graph;
}

Result<Checkpoint> Open(const TestCheckpoint& tensors, const testing::TemporaryFolder& folder) {
  return Checkpoint::Open(tensors.Write(folder, Json::object()));
}

// Element `i` of the weight, whose blocks must follow each other.
float At(const WeightSource& source, std::int64_t i) {
  float value = std::numeric_limits<float>::quiet_NaN();
  std::int64_t row = 0;
  for (const WeightBlock& block : source.Blocks()) {
    EXPECT_EQ(block.first_row, row);
    const WeightView view = block.Read({});
    EXPECT_EQ(view.n, block.rows);
    const std::int64_t at = i - row * view.k;
    if (at >= 0 && at < view.n * view.k) std::memcpy(&value, view.data + 4 * at, sizeof value);
    row += block.rows;
  }
  EXPECT_EQ(row, source.rows());
  return value;
}

TEST(WeightSource, GathersExpertsStoredOneByOne) {
  TestCheckpoint tensors;
  const std::string mlp = "model.layers.0.mlp.experts.";
  for (const char* e : {"0", "1", "2", "3"}) {
    tensors.Add(mlp + e + ".gate_proj.weight", {32, 64});
    tensors.Add(mlp + e + ".up_proj.weight", {32, 64});
    tensors.Add(mlp + e + ".down_proj.weight", {64, 32});
  }
  const testing::TemporaryFolder folder;
  const auto checkpoint = Open(tensors, folder);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  const auto sources = ResolveWeights(Experts(), *checkpoint);
  ASSERT_TRUE(sources.ok()) << sources.error().message();
  const WeightSource& up = (*sources)[1];
  EXPECT_EQ(up.pieces.size(), 4u);
  EXPECT_EQ(up.bytes(), 4 * 32 * 64 * 4);
  EXPECT_EQ(up.staging_bytes(), 0);
  // Each expert has three tensors of 2,048 elements; up is the second.
  EXPECT_EQ(At(up, 0), 2048);
  EXPECT_EQ(At(up, 2048), 3 * 2048 + 2048);
  EXPECT_EQ(At(up, 4 * 2048 - 1), 9 * 2048 + 4095);
  EXPECT_TRUE(UnusedTensors(*checkpoint, *sources).empty());
}

TEST(WeightSource, TakesStackedExpertsOfMlxAsTheyLie) {
  TestCheckpoint tensors;
  for (const char* matrix : {"gate_proj", "up_proj"}) {
    tensors.Add(std::string("model.layers.0.mlp.switch_mlp.") + matrix + ".weight", {4, 32, 64});
  }
  tensors.Add("model.layers.0.mlp.switch_mlp.down_proj.weight", {4, 64, 32});
  const testing::TemporaryFolder folder;
  const auto checkpoint = Open(tensors, folder);
  const auto sources = ResolveWeights(Experts(), *checkpoint);
  ASSERT_TRUE(sources.ok()) << sources.error().message();
  EXPECT_EQ((*sources)[2].Blocks().size(), 1u);
  EXPECT_EQ(At((*sources)[2], 0), 2 * 4 * 2048);
}

TEST(WeightSource, BlocksAreBoundedAndBeginWhereTheyMay) {
  struct Row {
    Shape shape;
    std::vector<std::pair<std::int64_t, std::int64_t>> blocks;  // first row, rows
  };
  const std::int64_t k = 2048;  // F16: 4 KiB a row, 4,096 rows a block
  for (const Row& row : {Row{{k}, {{0, 1}}}, Row{{4096, k}, {{0, 4096}}},
                         Row{{10000, k}, {{0, 4096}, {4096, 4096}, {8192, 1808}}},
                         Row{{5, 1000, k}, {{0, 4000}, {4000, 1000}}},
                         Row{{2, 5000, k}, {{0, 4096}, {4096, 904}, {5000, 4096}, {9096, 904}}}}) {
    SCOPED_TRACE(row.shape.ToString());
    WeightInfo tensor;
    tensor.shape = row.shape;
    tensor.format = Format::Of(FormatKind::kF16);
    WeightSource source{.shape = row.shape, .format = tensor.format};
    source.pieces = {{&tensor, 0, tensor.Rows()}};
    std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
    for (const WeightBlock& block : source.Blocks()) {
      EXPECT_EQ(block.tensor_row, block.first_row);
      blocks.emplace_back(block.first_row, block.rows);
    }
    EXPECT_EQ(blocks, row.blocks);
  }
}

TEST(WeightSource, SplitsGateFromUp) {
  TestCheckpoint tensors;
  tensors.Add("model.layers.0.mlp.experts.gate_up_proj", {4, 64, 64});
  tensors.Add("model.layers.0.mlp.experts.down_proj", {4, 64, 32});
  const testing::TemporaryFolder folder;
  const auto checkpoint = Open(tensors, folder);
  const auto sources = ResolveWeights(Experts(), *checkpoint);
  ASSERT_TRUE(sources.ok()) << sources.error().message();
  const WeightSource& gate = (*sources)[0];
  const WeightSource& up = (*sources)[1];
  EXPECT_EQ(At(gate, 0), 0);
  EXPECT_EQ(At(gate, 2048), 4096);  // the second expert
  EXPECT_EQ(At(up, 0), 2048);
  EXPECT_EQ(At(up, 3 * 2048), 3 * 4096 + 2048);
  EXPECT_EQ((*sources)[2].pieces.size(), 1u);
  EXPECT_TRUE(UnusedTensors(*checkpoint, *sources).empty());
}

TEST(WeightSource, SplitsGateFromUpOfALoneExpert) {
  TestCheckpoint tensors;
  tensors.Add("model.layers.0.mlp.experts.gate_up_proj", {1, 64, 64});
  tensors.Add("model.layers.0.mlp.experts.down_proj", {1, 64, 32});
  const testing::TemporaryFolder folder;
  const auto checkpoint = Open(tensors, folder);
  const auto sources = ResolveWeights(Experts(1), *checkpoint);
  ASSERT_TRUE(sources.ok()) << sources.error().message();
  const WeightSource& up = (*sources)[1];
  EXPECT_EQ(up.pieces.size(), 1u);
  EXPECT_EQ(up.rows(), 32);
  EXPECT_EQ(At((*sources)[0], 0), 0);
  EXPECT_EQ(At(up, 0), 2048);
  EXPECT_EQ(At(up, 2047), 4095);
}

// A whole small model under each spelling of its names.
TEST(WeightSource, FindsATextModelInsideALargerOne) {
  const Json config = TestConfig("llama");
  const Graph graph = BuildModel(config)->graph;
  const std::pair<std::string, std::string> spellings[] = {
      {"model.", "lm_head."},
      {"language_model.model.", "language_model.lm_head."},
      {"model.language_model.", "lm_head."},
      {"", "lm_head."},
  };
  for (const auto& [body, head] : spellings) {
    TestCheckpoint tensors;
    tensors.AddAll(graph);
    tensors.Rename("model.", body);
    tensors.Rename("lm_head.", head);
    tensors.Add("vision_tower.patches.weight", {2, 2});
    const testing::TemporaryFolder folder;
    const auto opened = OpenModel(tensors.Write(folder, config));
    ASSERT_TRUE(opened.ok()) << body << ": " << opened.error().message();
    const auto unused = UnusedTensors(opened->checkpoint, opened->sources);
    ASSERT_EQ(unused.size(), 1u);
    EXPECT_EQ(unused[0]->name, "vision_tower.patches.weight");
  }
}

TEST(WeightSource, NamesWhatDoesNotFit) {
  const Json config = TestConfig("llama");
  const Graph graph = BuildModel(config)->graph;
  const std::string victim = "model.layers.1.mlp.up_proj.weight";
  {
    TestCheckpoint tensors;
    tensors.AddAll(graph);
    tensors.Remove(victim);
    const testing::TemporaryFolder folder;
    const auto opened = OpenModel(tensors.Write(folder, config));
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().message(), HasSubstr("`" + victim + "` is missing"));
  }
  {
    TestCheckpoint tensors;
    tensors.AddAll(graph);
    tensors.Remove(victim);
    tensors.Add(victim, {96, 63});
    const testing::TemporaryFolder folder;
    const auto opened = OpenModel(tensors.Write(folder, config));
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(
        opened.error().message(),
        HasSubstr("`" + victim + "` has the shape [96, 63]; the model's config makes it [96, 64]"));
  }
}

TEST(WeightSource, ExpertsOfSeveralFormatsAreRefused) {
  testing::TemporaryFolder folder;
  folder.Write("config.json", "{}");
  const std::string f32(2 * 4 * 4, '\0');
  const std::vector<SafetensorsTensor> tensors = {
      testing::MakeTensor("model.layers.0.mlp.experts.0.up_proj.weight", "F32", {2, 4}, f32),
      testing::MakeTensor("model.layers.0.mlp.experts.1.up_proj.weight", "F16", {2, 4},
                          std::string_view(f32).substr(16))};
  ASSERT_TRUE(WriteSafetensors(folder.path() + "/model.safetensors", tensors).ok());
  const auto checkpoint = Checkpoint::Open(folder.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  Graph graph;
  graph.weights = {{"model.layers.0.mlp.experts.up_proj.weight", {2, 2, 4}, 0}};
  const auto sources = ResolveWeights(graph, *checkpoint);
  ASSERT_FALSE(sources.ok());
  EXPECT_THAT(sources.error().message(), HasSubstr("is stored as F16"));
}

}  // namespace
}  // namespace tonnage
