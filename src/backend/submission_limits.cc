#include "backend/submission_limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "memory/budget.h"

namespace tonnage {
namespace {

Result<double> ParseMilliseconds(std::string_view name, std::string_view text) {
  double ms = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, ms, std::chars_format::fixed);
  if (error != std::errc() || parsed != end || !std::isfinite(ms) || ms <= 0) {
    return InvalidArgument("{}: `{}` is not a time: write a number of milliseconds above 0", name,
                           text);
  }
  return ms;
}

}  // namespace

Result<SubmissionLimits> LowerSubmissionLimits(const SubmissionLimits& device,
                                               const UserSubmissionLimits& user) {
  SubmissionLimits limits = device;
  if (!user.bytes.text.empty()) {
    ASSIGN_OR_RETURN(const Bytes bytes, ParseByteSize(user.bytes.name, user.bytes.text));
    if (bytes < 1) return InvalidArgument("{}: `0` leaves no work to be done", user.bytes.name);
    limits.bytes = std::min(limits.bytes, bytes);
  }
  if (!user.launches.text.empty()) {
    ASSIGN_OR_RETURN(const std::int64_t launches,
                     ParseCount(user.launches.name, user.launches.text));
    limits.launches = std::min(limits.launches, launches);
  }
  if (!user.ms.text.empty()) {
    ASSIGN_OR_RETURN(const double ms, ParseMilliseconds(user.ms.name, user.ms.text));
    limits.ms = std::min(limits.ms, ms);
  }
  return limits;
}

}  // namespace tonnage
