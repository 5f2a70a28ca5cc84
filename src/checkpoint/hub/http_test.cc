#include "checkpoint/hub/http.h"

#include <gtest/gtest.h>

namespace tonnage::hub {
namespace {

TEST(UrlOriginTest, TellsHostsPortsAndSchemesApart) {
  EXPECT_EQ(*UrlOrigin("https://Hub.example/a/b?c"), "https://hub.example:443");
  EXPECT_EQ(*UrlOrigin("http://hub.example:8080/"), "http://hub.example:8080");
  EXPECT_EQ(*UrlOrigin("https://hub.example@evil.example/"), "https://evil.example:443");
  for (const char* url : {"file:///etc/passwd", "ftp://a/b", "hub.example", "", "https://"})
    EXPECT_FALSE(UrlOrigin(url).ok()) << url;
}

TEST(RedirectTargetTest, FollowsRelativeOnesAndNoDowngrade) {
  EXPECT_EQ(*RedirectTarget("https://a/b/c?d", "/e"), "https://a/e");
  EXPECT_EQ(*RedirectTarget("https://a/b/c", "d"), "https://a/b/d");
  EXPECT_EQ(*RedirectTarget("http://a/b", "https://c/d"), "https://c/d");
  EXPECT_FALSE(RedirectTarget("https://a/b", "http://a/b").ok());
  EXPECT_FALSE(RedirectTarget("https://a/b", "file:///etc/passwd").ok());
}

TEST(HttpClientTest, NobodyThereIsUnavailable) {
  const std::atomic<bool> stop = false;
  HttpClient client({}, stop);
  const auto sink = [](const HttpHead&, std::span<const std::uint8_t>) { return true; };
  // Port 1 of this machine: refused at once.
  EXPECT_EQ(client.Get({.url = "http://127.0.0.1:1/"}, sink).error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace tonnage::hub
