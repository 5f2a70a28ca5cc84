#include "models/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "checkpoint/quoted.h"
#include "models/config_reader.h"

namespace tonnage {
namespace {

constexpr Range<double> kFactorRange{1e-6, 1e6};
constexpr Range<std::int64_t> kTokensRange{2, std::int64_t{1} << 30};

// What the functions below share. Lists are indexed by the pair of elements that turn together.
struct Basis {
  ConfigReader& params;
  double theta;
  int rotary_dim;
  std::int64_t max_positions;
};

std::vector<float> DefaultFrequencies(double theta, int rotary_dim) {
  std::vector<float> frequency;
  for (int i = 0; i < rotary_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(rotary_dim);
    const auto power = static_cast<float>(std::pow(static_cast<float>(theta), double{exponent}));
    frequency.push_back(1.0f / power);
  }
  return frequency;
}

std::int64_t OriginalPositions(Basis& b) {
  return b.params.IntOr("original_max_position_embeddings", b.max_positions, kTokensRange);
}

void ScaleLinear(Basis& b, RopeConfig& rope) {
  const auto factor = static_cast<float>(b.params.Number("factor", kFactorRange));
  for (float& frequency : rope.inverse_frequency) frequency /= factor;
}

// Long wavelengths are stretched by the factor, short ones stay, those between are interpolated.
void ScaleLlama3(Basis& b, RopeConfig& rope) {
  const auto factor = static_cast<float>(b.params.Number("factor", kFactorRange));
  const auto low = static_cast<float>(b.params.Number("low_freq_factor", kFactorRange));
  const auto high = static_cast<float>(b.params.Number("high_freq_factor", kFactorRange));
  if (high <= low) {
    b.params.Fail(Unreadable("`high_freq_factor` must be above `low_freq_factor`"));
    return;
  }
  const auto original = static_cast<float>(OriginalPositions(b));
  for (float& frequency : rope.inverse_frequency) {
    const float wavelength = 2 * std::numbers::pi_v<float> / frequency;
    const float turns = original / wavelength;
    const float smooth = std::clamp((turns - low) / (high - low), 0.0f, 1.0f);
    frequency = (1 - smooth) * frequency / factor + smooth * frequency;
  }
}

// Pairs that turn often within the original context stay, those that turn seldom are stretched,
// with a linear ramp over the pairs between.
void ScaleYarn(Basis& b, RopeConfig& rope) {
  const auto original = static_cast<double>(OriginalPositions(b));
  const double factor =
      b.params.NumberOr("factor", static_cast<double>(b.max_positions) / original, kFactorRange);
  const double beta_fast = b.params.NumberOr("beta_fast", 32, kFactorRange);
  const double beta_slow = b.params.NumberOr("beta_slow", 1, kFactorRange);
  const bool truncate = b.params.BoolOr("truncate", true);

  const auto magnitude = [&](double scale) {
    return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
  };
  const double mscale = b.params.NumberOr("mscale", 0, {0, 1e6});
  const double mscale_all_dim = b.params.NumberOr("mscale_all_dim", 0, {0, 1e6});
  const double natural = mscale > 0 && mscale_all_dim > 0
                             ? magnitude(mscale) / magnitude(mscale_all_dim)
                             : magnitude(1);
  rope.magnitude = static_cast<float>(b.params.NumberOr("attention_factor", natural, {0, 1e6}));

  // The pair, as a real number, that turns `rotations` times within the original context.
  const auto pair_of = [&](double rotations) {
    return b.rotary_dim * std::log(original / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(b.theta));
  };
  double low = pair_of(beta_fast);
  double high = pair_of(beta_slow);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(b.rotary_dim - 1));
  if (low == high) high += 0.001;
  for (size_t i = 0; i < rope.inverse_frequency.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double frequency = rope.inverse_frequency[i];
    rope.inverse_frequency[i] =
        static_cast<float>(frequency / factor * ramp + frequency * (1 - ramp));
  }
  const double served = std::min(original * factor, static_cast<double>(kTokensRange.max));
  rope.context_limit = std::max(rope.context_limit, static_cast<std::int64_t>(served));
}

// Divides each frequency by its element of the list `key`.
void DivideByList(Basis& b, std::string_view key, RopeConfig& rope) {
  const std::vector<double> factors = b.params.Numbers(key, kFactorRange);
  if (factors.size() != rope.inverse_frequency.size()) {
    b.params.Fail(Unreadable("`{}` has {} elements; {} rotated dimensions take {}", key,
                             factors.size(), b.rotary_dim, rope.inverse_frequency.size()));
    return;
  }
  for (size_t i = 0; i < factors.size(); ++i) {
    rope.inverse_frequency[i] /= static_cast<float>(factors[i]);
  }
}

void ScaleLongrope(Basis& b, RopeConfig& rope) {
  const std::int64_t original_tokens = OriginalPositions(b);
  const auto original = static_cast<double>(original_tokens);
  const double factor =
      b.params.NumberOr("factor", static_cast<double>(b.max_positions) / original, kFactorRange);
  const double natural = factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(original));
  rope.magnitude = static_cast<float>(b.params.NumberOr("attention_factor", natural, {0, 1e6}));
  DivideByList(b, "short_factor", rope);
  rope.context_limit = std::min(rope.context_limit, original_tokens);
}

void Scale(std::string_view type, Basis& b, RopeConfig& rope) {
  if (type == "default" || type == "dynamic") return;
  if (type == "linear") return ScaleLinear(b, rope);
  if (type == "llama3") return ScaleLlama3(b, rope);
  if (type == "yarn") return ScaleYarn(b, rope);
  if (type == "longrope" || type == "su") return ScaleLongrope(b, rope);
  if (type == "factors") return DivideByList(b, "factors", rope);
  b.params.Fail(Unsupported(
      "rope type {} is not supported; default, linear, dynamic, llama3, yarn and longrope are",
      Quoted(type)));
}

// Every RoPE setting in one object, wherever the config has it.
Result<Json> MergedParams(const Json& config) {
  Json merged = Json::object();
  for (std::string_view key : {"rope_theta", "partial_rotary_factor",
                               "original_max_position_embeddings", "rope_interleaved"}) {
    if (const Json* value = JsonFind(config, key)) merged[std::string(key)] = *value;
  }
  for (std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Json* params = JsonFind(config, key);
    if (params == nullptr) continue;
    if (!params->is_object()) return Unreadable("`{}` must be an object", key);
    for (const auto& [name, value] : params->items()) {
      if (value.is_object()) {
        return Unsupported("`{}` differs by layer type ({}), which this model does not do", key,
                           Quoted(name));
      }
      if (!value.is_null()) merged[name] = value;
    }
  }
  return merged;
}

}  // namespace

Result<RopeConfig> ParseRope(const Json& config, int head_dim, std::int64_t context_limit,
                             double default_theta) {
  ASSIGN_OR_RETURN(const Json merged, MergedParams(config));
  ConfigReader params(merged);
  const double theta = params.NumberOr("rope_theta", default_theta, {1.001, 1e15});
  const double rotated_part = params.NumberOr("partial_rotary_factor", 1.0, {0, 1});
  const int rotary_dim = static_cast<int>(head_dim * rotated_part);
  if (rotary_dim < 2 || rotary_dim % 2 != 0) {
    params.Fail(Unreadable("RoPE would turn {} of {} dimensions of a head; it turns pairs",
                           rotary_dim, head_dim));
  }
  RETURN_IF_ERROR(params.status());

  RopeConfig rope{.inverse_frequency = DefaultFrequencies(theta, rotary_dim),
                  .interleaved = params.BoolOr("rope_interleaved", false),
                  .context_limit = context_limit};
  const std::string older_type = params.StringOr("type", "default");
  const std::string type = params.StringOr("rope_type", older_type);
  Basis basis{params, theta, rotary_dim, context_limit};
  Scale(type, basis, rope);
  RETURN_IF_ERROR(params.status());
  return rope;
}

}  // namespace tonnage
