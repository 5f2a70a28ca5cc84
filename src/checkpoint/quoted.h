// Names from outside, made fit for an error message: between backticks, control bytes and malformed
// UTF-8 spelled out, and long names cut, so that a file cannot write to somebody's terminal through
// our errors.
#pragma once

#include <string>
#include <string_view>

namespace tonnage {

std::string Quoted(std::string_view name);

}  // namespace tonnage
