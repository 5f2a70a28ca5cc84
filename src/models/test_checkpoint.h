// A checkpoint on disk for tests of what reads checkpoints.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/testing.h"
#include "graph/graph.h"

namespace tonnage {

// Tensors of F32, whose elements count up over all of them, so that each has bytes of its own.
class TestCheckpoint {
 public:
  void Add(const std::string& name, const std::vector<std::int64_t>& shape) {
    size_t elements = 1;
    for (std::int64_t extent : shape) elements *= static_cast<size_t>(extent);
    std::string& data = data_.emplace_back();
    for (size_t i = 0; i < elements; ++i) data += testing::Raw(static_cast<float>(next_++));
    names_.push_back(name);
    shapes_.push_back(shape);
  }
  // A tensor for every weight of the graph, under its own name.
  void AddAll(const Graph& graph) {
    for (const WeightSpec& spec : graph.weights) {
      std::vector<std::int64_t> shape;
      for (int i = 0; i < spec.shape.rank(); ++i) shape.push_back(spec.shape[i]);
      Add(spec.name, shape);
    }
  }
  // The same with `from` at the beginning of names replaced.
  void Rename(const std::string& from, const std::string& to) {
    for (std::string& name : names_) {
      if (name.starts_with(from)) name = to + name.substr(from.size());
    }
  }
  void Remove(const std::string& name) {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != name) continue;
      names_.erase(names_.begin() + static_cast<std::ptrdiff_t>(i));
      shapes_.erase(shapes_.begin() + static_cast<std::ptrdiff_t>(i));
      data_.erase(data_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  // Writes the folder's config.json and model.safetensors and returns its path.
  std::string Write(const testing::TemporaryFolder& folder, const Json& config) const {
    std::vector<SafetensorsTensor> tensors;
    for (size_t i = 0; i < names_.size(); ++i) {
      tensors.push_back(testing::MakeTensor(names_[i], "F32", shapes_[i], data_[i]));
    }
    folder.Write("config.json", config.dump());
    WriteSafetensors(folder.path() + "/model.safetensors", tensors).value();
    return folder.path();
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<std::string> data_;
  int next_ = 0;
};

}  // namespace tonnage
