// What a user may say about the limits of a submission: bytes, launches, modelled milliseconds.
// Each has its own type and can only lower what the device's profile allows. Pure functions.
#pragma once

#include "base/result.h"
#include "graph/submissions.h"
#include "memory/host_memory.h"

namespace tonnage {

// Options or variables by name, with their text; an empty text lowers nothing.
struct UserSubmissionLimits {
  UserLimit bytes;     // "256M"
  UserLimit launches;  // "200"
  UserLimit ms;        // "12.5"
};

// InvalidArgument, naming the option or variable, for a text that is no such limit.
Result<SubmissionLimits> LowerSubmissionLimits(const SubmissionLimits& device,
                                               const UserSubmissionLimits& user);

}  // namespace tonnage
