#include "server/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "server/http/testing.h"

namespace tonnage {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class AppTest : public testing::Test {
 protected:
  App& Make(AppOptions options = {}) {
    options.random = [] { return std::uint64_t{0xabc}; };
    options.open_paths = {"/health"};
    options.log = [this](std::string_view line) { log_.emplace_back(line); };
    const auto say = [](std::string text) {
      return [text](const http::Request& request, const std::shared_ptr<http::Responder>& answer) {
        answer->Reply({.body = text + request.body});
      };
    };
    app_ = std::make_unique<App>(
        std::move(options),
        std::vector<http::Route>{
            {"GET", "/health", say("well")},
            {"POST", "/echo", say("echo ")},
            {"GET", "/models/*", say("one")},
            {"POST", "/keep",
             [this](const http::Request&, const std::shared_ptr<http::Responder>& answer) {
               kept_ = answer;
             }}});
    return *app_;
  }
  http::Response Ask(std::string method, std::string path, http::Headers headers = {},
                     std::string body = {}) {
    const auto responder = std::make_shared<http::FakeResponder>();
    app_->handler()({.method = std::move(method),
                     .path = std::move(path),
                     .query = {},
                     .headers = std::move(headers),
                     .body = std::move(body)},
                    responder);
    return responder->WaitForEnd();
  }
  static std::string MessageOf(const http::Response& response) {
    return ParseJson(response.body).value()["error"]["message"];
  }

  std::vector<std::string> log_;
  std::shared_ptr<http::Responder> kept_;
  std::unique_ptr<App> app_;
};

TEST_F(AppTest, RoutesByMethodAndPath) {
  Make();
  EXPECT_EQ(Ask("POST", "/echo", {}, "x").body, "echo x");
  EXPECT_EQ(Ask("GET", "/models/a/b").body, "one");
  EXPECT_EQ(Ask("HEAD", "/health").status, 200);
  EXPECT_EQ(Ask("GET", "/models/").status, 404);
  const http::Response missing = Ask("GET", "/nothing");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(MessageOf(missing), "nothing is at /nothing");
  const http::Response wrong = Ask("GET", "/echo");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(http::HeaderOf(wrong, "Allow"), "POST");
}

TEST_F(AppTest, EveryAnswerHasAnIdAndALineInTheLog) {
  Make();
  EXPECT_EQ(http::HeaderOf(Ask("GET", "/health"), "X-Request-Id"), "req-0000000000000abc");
  EXPECT_EQ(http::HeaderOf(Ask("GET", "/health", {{"x-request-id", "mine-1.2"}}), "X-Request-Id"),
            "mine-1.2");
  EXPECT_THAT(http::HeaderOf(Ask("GET", "/health", {{"X-Request-Id", "a b\r\n"}}), "X-Request-Id"),
              StartsWith("req-"));
  Ask("GET", "/new\nline");
  ASSERT_EQ(log_.size(), 4u);
  EXPECT_THAT(log_[1], StartsWith("\"GET\" \"/health\" 200 "));
  EXPECT_THAT(log_[1], HasSubstr(" mine-1.2"));
  EXPECT_THAT(log_[3], StartsWith("\"GET\" \"/new\\nline\" 404 "));
}

TEST_F(AppTest, KeysAreWantedButForProbes) {
  Make({.api_keys = {"first", "second"}});
  const http::Response refused = Ask("POST", "/echo");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(http::HeaderOf(refused, "WWW-Authenticate"), "Bearer");
  EXPECT_EQ(ParseJson(refused.body).value()["error"]["code"], "invalid_api_key");
  for (const char* wrong : {"Bearer ", "Bearer firs", "Bearer firstt", "Basic first", "first"}) {
    EXPECT_EQ(Ask("POST", "/echo", {{"Authorization", wrong}}).status, 401) << wrong;
  }
  EXPECT_EQ(Ask("POST", "/echo", {{"authorization", "bearer first"}}).status, 200);
  EXPECT_EQ(Ask("POST", "/echo", {{"X-Api-Key", "second"}}).status, 200);
  EXPECT_EQ(Ask("GET", "/health").status, 200);
}

TEST_F(AppTest, PagesOfOtherOriginsAreRefusedUnlessAllowed) {
  Make({.cors_origins = {"https://good.example"}});
  const http::Response good = Ask("POST", "/echo", {{"Origin", "https://good.example"}});
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(http::HeaderOf(good, "Access-Control-Allow-Origin"), "https://good.example");
  EXPECT_EQ(Ask("POST", "/echo", {{"Origin", "https://bad.example"}}).status, 403);
  EXPECT_EQ(Ask("POST", "/echo", {{"Origin", "null"}}).status, 403);
  EXPECT_EQ(Ask("POST", "/echo", {{"Origin", "http://127.0.0.1:8080"}, {"Host", "127.0.0.1:8080"}})
                .status,
            200);
  const http::Headers preflight = {{"Origin", "https://good.example"},
                                   {"Access-Control-Request-Method", "POST"},
                                   {"Access-Control-Request-Headers", "authorization"}};
  const http::Response asked = Ask("OPTIONS", "/echo", preflight);
  EXPECT_EQ(asked.status, 204);
  EXPECT_EQ(http::HeaderOf(asked, "Access-Control-Allow-Headers"), "authorization");
  EXPECT_THAT(http::HeaderOf(asked, "Access-Control-Allow-Methods"), HasSubstr("POST"));
}

TEST_F(AppTest, PreflightsNeedNoKey) {
  Make({.api_keys = {"k"}, .cors_origins = {"*"}});
  EXPECT_EQ(Ask("OPTIONS", "/echo",
                {{"Origin", "https://any.example"}, {"Access-Control-Request-Method", "POST"}})
                .status,
            204);
  EXPECT_EQ(Ask("POST", "/echo", {{"Origin", "https://any.example"}}).status, 401);
}

TEST_F(AppTest, DrainingRefusesNewRequestsAndCountsTheOldOnes) {
  App& app = Make();
  const auto responder = std::make_shared<http::FakeResponder>();
  app.handler()({.method = "POST", .path = "/keep", .query = {}}, responder);
  EXPECT_EQ(app.in_flight(), 1);
  app.Drain();
  const http::Response refused = Ask("POST", "/echo");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(http::HeaderOf(refused, "Retry-After"), "5");
  EXPECT_EQ(Ask("GET", "/health").status, 200);
  EXPECT_EQ(app.in_flight(), 1);
  kept_->Reply({.body = "late"});
  EXPECT_EQ(responder->WaitForEnd().body, "late");
  EXPECT_EQ(app.in_flight(), 0);
}

TEST_F(AppTest, ARequestThatIsDroppedOrWhoseClientGoesIsNotCountedForEver) {
  App& app = Make();
  const auto responder = std::make_shared<http::FakeResponder>();
  app.handler()({.method = "POST", .path = "/keep", .query = {}}, responder);
  responder->Leave();
  kept_.reset();
  EXPECT_EQ(app.in_flight(), 0);
  EXPECT_THAT(log_.back(), HasSubstr(" 499 "));
}

TEST(ApiKeyFiles, AreOneKeyALine) {
  EXPECT_EQ(ParseApiKeys("a\r\n\n# no key\n  b-2  \n").value(),
            (std::vector<std::string>{"a", "b-2"}));
  EXPECT_EQ(ParseApiKeys("# none\n").error().code(), Code::kInvalidArgument);
  EXPECT_THAT(ParseApiKeys("a\nb c").error().message(), HasSubstr("line 2"));
  EXPECT_FALSE(ParseApiKeys("\xff").ok());
}

}  // namespace
}  // namespace tonnage
