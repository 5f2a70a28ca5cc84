// The tensors of a safetensors checkpoint as those who put layers together ask for them. Borrows
// the tensors. Safe from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "checkpoint/safetensors.h"
#include "tensor/dtype.h"

namespace tonnage {

// Tensors in the order of their names, found by name.
class TensorTable {
 public:
  explicit TensorTable(std::span<const SafetensorsTensor> tensors) : tensors_(tensors) {}
  // The tensor `module` + `suffix`, or nullptr.
  const SafetensorsTensor* Find(std::string_view module, std::string_view suffix) const;

 private:
  std::span<const SafetensorsTensor> tensors_;
};

// The module that `name` belongs to as its `suffix`, or nothing.
std::optional<std::string> ModuleOf(std::string_view name, std::string_view suffix);

// What the tensor's numbers are, which must be F32, F16 or BF16.
Result<DType> RequireFloats(const SafetensorsTensor& tensor);

}  // namespace tonnage
