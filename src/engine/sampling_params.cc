#include "engine/sampling_params.h"

namespace tonnage {
namespace {

struct Range {
  const char* field;
  double value;
  double low, high;
};

}  // namespace

Status ValidateSampling(const SamplingParams& params, std::int64_t vocab) {
  const Range ranges[] = {
      {"temperature", params.temperature, 0, 100},
      {"top_p", params.top_p, 0, 1},
      {"min_p", params.min_p, 0, 1},
      {"typical_p", params.typical_p, 0, 1},
      {"repetition_penalty", params.repetition_penalty, 0.01, 100},
      {"presence_penalty", params.presence_penalty, -100, 100},
      {"frequency_penalty", params.frequency_penalty, -100, 100},
  };
  for (const Range& range : ranges) {
    // Written so that NaN is out of every range.
    if (!(range.value >= range.low && range.value <= range.high)) {
      return InvalidArgument("{} is {}, but must be from {} to {}", range.field, range.value,
                             range.low, range.high)
          .About(range.field);
    }
  }
  if (params.top_k < 0) {
    return InvalidArgument("top_k is {}, but must be 0 (off) or more", params.top_k).About("top_k");
  }
  if (params.repeat_last_n < -1) {
    return InvalidArgument("repeat_last_n is {}, but must be -1 (all), 0 (off) or more",
                           params.repeat_last_n)
        .About("repeat_last_n");
  }
  for (const LogitBias& bias : params.logit_bias) {
    if (bias.token < 0 || bias.token >= vocab) {
      return InvalidArgument("logit_bias names token {}, but the vocabulary has tokens 0 to {}",
                             bias.token, vocab - 1)
          .About("logit_bias");
    }
    if (!(bias.bias >= -100 && bias.bias <= 100)) {
      return InvalidArgument("logit_bias of token {} is {}, but must be from -100 to 100",
                             bias.token, bias.bias)
          .About("logit_bias");
    }
  }
  return {};
}

}  // namespace tonnage
