// Regular expressions come in Oniguruma's Ruby syntax and are run by PCRE2. ToPcre2 writes the same
// expression for PCRE2: classes mean what the reference's Unicode version says, Ruby's own
// quantifiers and options are spelled out, and what PCRE2 cannot say the same way is refused by
// name. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tonnage {

Result<std::string> ToPcre2(std::string_view regex);

}  // namespace tonnage
