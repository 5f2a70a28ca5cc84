#include "server/openai/errors.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace tonnage::openai {
namespace {

TEST(Errors, HaveOpenAisShape) {
  const auto json = *ParseJson(ErrorJson(InvalidArgument("n is 0").About("n")));
  EXPECT_EQ(DumpJson(json), R"({"error":{"message":"n is 0","type":"invalid_request_error",)"
                            R"("param":"n","code":"invalid_value"}})");
  EXPECT_TRUE((*ParseJson(ErrorJson(Internal("x"))))["error"]["param"].is_null());
}

TEST(Errors, EveryCodeHasItsStatusAndName) {
  const struct {
    Error error;
    int status;
    const char* code;
  } cases[] = {
      {InvalidArgument("x"), 400, "invalid_value"},
      {TooLong("x"), 400, "context_length_exceeded"},
      {Unsupported("x"), 400, "unsupported_parameter"},
      {Unreadable("x"), 400, "invalid_value"},
      {Busy("x"), 429, "rate_limit_exceeded"},
      {Unavailable("x"), 503, "service_unavailable"},
      {Refused("x"), 507, "insufficient_memory"},
  };
  for (const auto& [error, status, code] : cases) {
    const http::Response response = ErrorResponse(error);
    EXPECT_EQ(response.status, status);
    EXPECT_EQ((*ParseJson(response.body))["error"]["code"], code);
  }
  const http::Response missing = ModelNotFound(Unreadable("no model x"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ((*ParseJson(missing.body))["error"]["code"], "model_not_found");
  EXPECT_EQ((*ParseJson(missing.body))["error"]["param"], "model");
}

TEST(Errors, TheServersOwnHaveTheSameShape) {
  for (const int status : {400, 401, 404, 405, 408, 413, 429, 431, 500, 503}) {
    const http::Response response = ErrorResponse(status, "why\xff");
    EXPECT_EQ(response.status, status);
    const auto json = ParseJson(response.body);
    ASSERT_TRUE(json.ok());
    EXPECT_EQ((*json)["error"].size(), 4u);
  }
}

}  // namespace
}  // namespace tonnage::openai
