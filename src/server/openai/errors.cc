#include "server/openai/errors.h"

#include "base/json.h"
#include "service/dispatcher.h"

namespace tonnage::openai {
namespace {

constexpr std::string_view kInvalid = "invalid_request_error";
constexpr std::string_view kServer = "server_error";

struct CodeRow {
  Code code;
  std::string_view type;
  std::string_view name;  // empty: null
};

constexpr CodeRow kCodes[] = {
    {Code::kInvalidArgument, kInvalid, "invalid_value"},
    {Code::kTooLong, kInvalid, "context_length_exceeded"},
    {Code::kUnreadable, kInvalid, "invalid_value"},
    {Code::kUnsupported, kInvalid, "unsupported_parameter"},
    {Code::kRefused, kServer, "insufficient_memory"},
    {Code::kBusy, "requests", "rate_limit_exceeded"},
    {Code::kUnavailable, kServer, "service_unavailable"},
    {Code::kCancelled, kServer, "cancelled"},
    {Code::kInternal, kServer, ""},
};

struct StatusRow {
  int status;
  std::string_view type;
  std::string_view name;
};

constexpr StatusRow kStatuses[] = {
    {401, kInvalid, "invalid_api_key"},       {404, kInvalid, "unknown_url"},
    {405, kInvalid, "method_not_supported"},  {413, kInvalid, "request_too_large"},
    {429, "requests", "rate_limit_exceeded"}, {503, kServer, "service_unavailable"},
};

std::string Body(std::string_view message, std::string_view type, std::string_view param,
                 std::string_view code) {
  const auto or_null = [](std::string_view text) { return text.empty() ? Json() : Json(text); };
  return DumpJson({{"error",
                    {{"message", message},
                     {"type", type},
                     {"param", or_null(param)},
                     {"code", or_null(code)}}}});
}

http::Response Reply(int status, std::string body) {
  return {
      .status = status, .content_type = "application/json", .body = std::move(body), .headers = {}};
}

}  // namespace

std::string ErrorJson(const Error& error) {
  for (const CodeRow& row : kCodes) {
    if (row.code == error.code()) return Body(error.message(), row.type, error.field(), row.name);
  }
  return Body(error.message(), kServer, error.field(), "");
}

http::Response ErrorResponse(const Error& error) {
  // 404 is for models; a request that cannot be read is a bad one.
  const int status = error.code() == Code::kUnreadable ? 400 : HttpStatus(error.code());
  return Reply(status, ErrorJson(error));
}

http::Response ErrorResponse(const Error& error, const TokenEngine& engine) {
  http::Response response = ErrorResponse(error);
  if (error.code() == Code::kBusy || error.code() == Code::kUnavailable) {
    response.headers.emplace_back("Retry-After", std::to_string(RetryAfterSeconds(engine)));
  }
  return response;
}

http::Response ErrorResponse(int status, std::string_view message) {
  for (const StatusRow& row : kStatuses) {
    if (row.status == status) return Reply(status, Body(message, row.type, "", row.name));
  }
  return Reply(status, Body(message, status < 500 ? kInvalid : kServer, "", ""));
}

http::Response ModelNotFound(const Error& error) {
  return Reply(404, Body(error.message(), kInvalid, "model", "model_not_found"));
}

}  // namespace tonnage::openai
