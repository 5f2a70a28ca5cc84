// Requests side by side on an engine, and when each of their tokens came: what `tonnage bench`
// measures. The figures are pure functions of a timeline. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "engine/token_engine.h"

namespace tonnage::cli {

struct Timeline {
  Clock::time_point start;
  std::vector<std::vector<Clock::time_point>> tokens;  // [requests, generated], when each came
  std::vector<std::int32_t> first_ids;                 // the first request's answer
};

// Starts one request a prompt, all at once, and reads `generate` tokens of each, the likeliest
// ones.
Result<Timeline> RunSideBySide(TokenEngine& engine,
                               const std::vector<std::vector<std::int32_t>>& prompts,
                               std::int64_t generate);

double Median(std::vector<double> values);  // at least one

// From the start until the first token of the first request.
double FirstTokenSeconds(const Timeline& timeline);
// Tokens of the first request after its first one, a second; 0 where there are none.
double DecodeTokensPerSecond(const Timeline& timeline);
// Tokens of all requests a second, while every one of them decodes.
double SideBySideTokensPerSecond(const Timeline& timeline);

struct Service {
  double tokens_per_s = 0;   // of all, from the start to the last token
  double first_token_s = 0;  // median of the requests
  double inter_token_s = 0;  // median of all gaps between two tokens of a request
  double longest_inter_token_s = 0;
};
Service ServiceOf(const Timeline& timeline);

}  // namespace tonnage::cli
