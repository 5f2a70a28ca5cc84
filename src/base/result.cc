#include "base/result.h"

namespace tonnage {
namespace {

struct CodeRow {
  Code code;
  std::string_view name;
  int exit_code;
  int http_status;
};

// The one table of what an error means outside.
constexpr CodeRow kCodes[] = {
    {Code::kInvalidArgument, "invalid_argument", 2, 400},
    {Code::kTooLong, "too_long", 2, 400},
    {Code::kUnreadable, "unreadable", 4, 404},
    {Code::kUnsupported, "unsupported", 4, 400},
    {Code::kRefused, "refused", 3, 507},
    {Code::kBusy, "busy", 5, 429},
    {Code::kUnavailable, "unavailable", 5, 503},
    {Code::kCancelled, "cancelled", 130, 499},
    {Code::kInternal, "internal", 1, 500},
};

const CodeRow& Row(Code code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row;
  }
  CHECK(false) << "no row for code " << static_cast<int>(code);
  return kCodes[0];
}

}  // namespace

int ExitCode(Code code) { return Row(code).exit_code; }
int HttpStatus(Code code) { return Row(code).http_status; }
std::string_view CodeName(Code code) { return Row(code).name; }

}  // namespace tonnage
