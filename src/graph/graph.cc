#include "graph/graph.h"

namespace tonnage {

std::string_view OpName(Op op) {
  switch (op) {
    case Op::kEmbed:
      return "embed";
    case Op::kLinear:
      return "linear";
    case Op::kRmsNorm:
      return "rms_norm";
    case Op::kRope:
      return "rope";
    case Op::kAttention:
      return "attention";
    case Op::kAdd:
      return "add";
    case Op::kGlu:
      return "glu";
    case Op::kSelectRows:
      return "select_rows";
    case Op::kRoute:
      return "route";
    case Op::kExpertLinear:
      return "expert_linear";
    case Op::kExpertSum:
      return "expert_sum";
  }
  return "?";
}

}  // namespace tonnage
