#include "server/http/framing.h"

#include <gtest/gtest.h>

namespace tonnage::http {
namespace {

TEST(Framing, PathsAreDecodedOrRefused) {
  EXPECT_EQ(DecodePath("/a%20b%2Fc"), "/a b/c");
  EXPECT_EQ(DecodePath(""), "");
  for (const char* malformed : {"/%", "/%2", "/%zz", "/%2z", "/%-1"}) {
    EXPECT_EQ(DecodePath(malformed), std::nullopt) << malformed;
  }
}

TEST(Framing, HeadsSayHowTheBodyComes) {
  const Response response{
      .status = 429, .content_type = "text/plain", .body = {}, .headers = {{"Retry-After", "1"}}};
  EXPECT_EQ(Head(response, true, 5),
            "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nRetry-After: 1\r\n"
            "Content-Length: 5\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(Head(response, false, std::nullopt),
            "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nRetry-After: 1\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
}

TEST(Framing, ChunksSayTheirLength) {
  EXPECT_EQ(Chunk(std::string(18, 'x')), "12\r\n" + std::string(18, 'x') + "\r\n");
}

}  // namespace
}  // namespace tonnage::http
