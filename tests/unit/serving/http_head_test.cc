#include "serving/http_head.h"

#include <string>

#include <gtest/gtest.h>

namespace volvox {
namespace {

TEST(HttpHead, EndsWithItsEmptyLine) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(http_head_bytes(head + "body\r\n\r\n"), head.size());
  for (std::size_t cut = 0; cut < head.size(); ++cut) EXPECT_FALSE(http_head_bytes(head.substr(0, cut)));
}

TEST(HttpHead, SaysWhoAsksForWhat) {
  const auto head = parse_http_head(
      "POST /v2/models/m/infer?x=1 HTTP/1.1\r\nhOST:  localhost:7102 \r\nOrigin: http://a\r\nSec-Fetch-Site: "
      "none\r\n"
      "Content-Type: application/json\r\nAuthorization: Bearer t\r\nX: y: z\r\nEmpty:\r\n\r\n");
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->path, "/v2/models/m/infer");
  EXPECT_EQ(head->headers.host, "localhost:7102");
  EXPECT_EQ(head->headers.origin, "http://a");
  EXPECT_EQ(head->headers.fetch_site, "none");
  EXPECT_EQ(head->headers.content_type, "application/json");
  EXPECT_EQ(head->headers.authorization, "Bearer t");
  const auto bare = parse_http_head("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(bare);
  EXPECT_FALSE(bare->headers.host);
}

TEST(HttpHead, RefusesWhatIsNone) {
  const std::string good = "GET / HTTP/1.1\r\n";
  for (const std::string& bad :
       {std::string("\r\n\r\n"), std::string("\x16\x03\x01 not http\r\n\r\n"), std::string("GET /\r\n\r\n"),
        std::string("GET / HTTP/2\r\n\r\n"), std::string("GET http://evil/ HTTP/1.1\r\n\r\n"),
        std::string("GET  HTTP/1.1\r\n\r\n"), std::string("G(T / HTTP/1.1\r\n\r\n"),
        good + "no colon\r\n\r\n", good + " folded: x\r\n\r\n", good + "Host : x\r\n\r\n",
        good + "Host: a\r\nHost: b\r\n\r\n", good + "Origin: a\r\norigin: a\r\n\r\n",
        good + "A: b\nc\r\n\r\n", good + "A: " + std::string(1, '\0') + "\r\n\r\n", good + "Host: x",
        std::string()}) {
    const auto head = parse_http_head(bad);
    ASSERT_FALSE(head) << bad;
    EXPECT_EQ(head.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace volvox
