#include "checkpoint/tensor_table.h"

#include <algorithm>

#include "checkpoint/quoted.h"

namespace tonnage {

const SafetensorsTensor* TensorTable::Find(std::string_view module, std::string_view suffix) const {
  const std::string name = std::string(module) + std::string(suffix);
  const auto it = std::ranges::lower_bound(tensors_, name, {}, &SafetensorsTensor::name);
  return it == tensors_.end() || it->name != name ? nullptr : &*it;
}

std::optional<std::string> ModuleOf(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  return std::string(name.substr(0, name.size() - suffix.size()));
}

Result<DType> RequireFloats(const SafetensorsTensor& tensor) {
  if (tensor.type->name == "F32") return DType::kF32;
  if (tensor.type->name == "F16") return DType::kF16;
  if (tensor.type->name == "BF16") return DType::kBF16;
  return Unreadable("tensor {} has type {}; it must be F32, F16 or BF16", Quoted(tensor.name),
                    tensor.type->name);
}

}  // namespace tonnage
