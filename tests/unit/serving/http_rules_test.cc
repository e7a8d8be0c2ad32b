#include "serving/http_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using testing::HasSubstr;

HttpRuleSettings loopback() {
  HttpRuleSettings door;
  door.listen_host = "127.0.0.1";
  door.hosts = {"models.example"};
  door.origins = {"https://app.example"};
  return door;
}

HttpHeaders from(const char* host) {
  HttpHeaders headers;
  headers.host = host;
  return headers;
}

bool passes(const HttpRuleSettings& door, const HttpHeaders& headers) {
  return !HttpRules(door).check_sender(headers);
}

// A page that has its own name point at this machine must not read what is here.
TEST(HttpRules, ServesOnlyUnderItsOwnNames) {
  for (const char* own : {"127.0.0.1:7102", "127.0.0.1", "localhost:7102", "LOCALHOST", "[::1]:7102",
                          "127.0.0.2:1", "models.example", "Models.Example:443"})
    EXPECT_TRUE(passes(loopback(), from(own))) << own;
  for (const char* foreign :
       {"evil.example", "evil.example:7102", "127.0.0.1.evil.example", "localhost.evil.example",
        "127.evil.example:7102", "10.0.0.7", "", ":7102", "[::1].evil.example"})
    EXPECT_FALSE(passes(loopback(), from(foreign))) << foreign;
  const auto refused = HttpRules(loopback()).check_sender(from("evil.example"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->reason, HttpRefusal::kHost);
  EXPECT_EQ(refused->error.code, ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused->error.message, HasSubstr("list the name in http.hosts"));
}

TEST(HttpRules, OneThatNamesNoHostIsNoBrowser) {
  EXPECT_TRUE(passes(loopback(), {}));
}

TEST(HttpRules, BoundToAllAddressesEachOfThemIsItsOwn) {
  HttpRuleSettings door = loopback();
  for (const char* all : {"0.0.0.0", "[::]"}) {
    door.listen_host = all;
    EXPECT_TRUE(passes(door, from("10.0.0.7:7102")));
    EXPECT_TRUE(passes(door, from("[2001:db8::1]:7102")));
    EXPECT_FALSE(passes(door, from("evil.example")));
  }
  door.listen_host = "10.0.0.7";
  EXPECT_TRUE(passes(door, from("10.0.0.7:7102")));
  EXPECT_FALSE(passes(door, from("10.0.0.8:7102")));
}

TEST(HttpRules, ASocketsModeSaysWhoComesInWhateverTheHost) {
  HttpRuleSettings door = loopback();
  door.listen_host = "";
  EXPECT_TRUE(passes(door, from("unix")));
  HttpHeaders page = from("unix");
  page.origin = "http://evil.example";
  EXPECT_FALSE(passes(door, page));
}

TEST(HttpRules, PagesOfOtherOriginsAreRefused) {
  HttpHeaders headers = from("127.0.0.1:7102");
  for (const char* own : {"http://127.0.0.1:7102", "HTTP://127.0.0.1:7102"}) {
    headers.origin = own;
    EXPECT_TRUE(passes(loopback(), headers)) << own;
  }
  headers.origin = "https://app.example";
  EXPECT_TRUE(passes(loopback(), headers)) << "it is listed";
  for (const char* foreign : {"http://evil.example", "null", "", "http://127.0.0.1:8080", "http://127.0.0.1",
                              "file://", "http://app.example", "https://app.example.evil.example"}) {
    headers.origin = foreign;
    EXPECT_FALSE(passes(loopback(), headers)) << foreign;
  }
  const auto refused = HttpRules(loopback()).check_sender(headers);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, HttpRefusal::kOrigin);
  EXPECT_THAT(refused->error.message, HasSubstr("http.origins"));
}

TEST(HttpRules, APortThatGoesWithoutSayingIsTheSameOrigin) {
  HttpHeaders headers = from("models.example");
  for (const char* own : {"https://models.example", "http://models.example", "http://models.example:80"}) {
    headers.origin = own;
    EXPECT_TRUE(passes(loopback(), headers)) << own;
  }
  headers.origin = "http://models.example:7102";
  EXPECT_FALSE(passes(loopback(), headers));
}

// What a browser sends for a page without naming its origin: forms, images, links.
TEST(HttpRules, WhatTheBrowserCallsForeignIsRefused) {
  HttpHeaders headers = from("127.0.0.1:7102");
  for (const char* own : {"same-origin", "none", " None "}) {
    headers.fetch_site = own;
    EXPECT_TRUE(passes(loopback(), headers)) << own;
  }
  for (const char* foreign : {"cross-site", "same-site", "Cross-Site", "something new"}) {
    headers.fetch_site = foreign;
    EXPECT_FALSE(passes(loopback(), headers)) << foreign;
  }
  headers.origin = "https://app.example";
  EXPECT_TRUE(passes(loopback(), headers)) << "it is listed";
}

TEST(HttpRules, ContentsThatAFormCanSendAreRefused) {
  const HttpRules rules(loopback());
  HttpHeaders headers;
  EXPECT_FALSE(rules.check_content(headers));
  for (const char* good : {"application/json", "Application/JSON; charset=utf-8", "application/octet-stream",
                           " application/json ;x"}) {
    headers.content_type = good;
    EXPECT_FALSE(rules.check_content(headers)) << good;
  }
  for (const char* simple :
       {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "",
        "text/plain; application/json", "application/jsonp"}) {
    headers.content_type = simple;
    const auto refused = rules.check_content(headers);
    ASSERT_TRUE(refused) << simple;
    EXPECT_EQ(refused->status, 415);
    EXPECT_EQ(refused->reason, HttpRefusal::kContentType);
    EXPECT_THAT(refused->error.message, HasSubstr("--json instead of --data"));
  }
}

TEST(HttpRules, ATokenIsShownOrNot) {
  HttpRuleSettings door = loopback();
  HttpHeaders headers;
  EXPECT_FALSE(HttpRules(door).check_token(headers));
  door.tokens = {"0123456789abcdef", "fedcba9876543210"};
  const HttpRules rules(door);
  ASSERT_TRUE(rules.check_token(headers));
  EXPECT_EQ(rules.check_token(headers)->status, 401);
  EXPECT_EQ(rules.check_token(headers)->error.code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(rules.check_token(headers)->error.message, HasSubstr("Authorization: Bearer"));
  for (const char* wrong :
       {"0123456789abcdef", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0",
        "Basic 0123456789abcdef", "Bearer 0123456789abcdeF", ""}) {
    headers.authorization = wrong;
    EXPECT_TRUE(rules.check_token(headers)) << wrong;
    EXPECT_EQ(rules.token_number(headers), 0U);
  }
  headers.authorization = "bearer  fedcba9876543210 ";
  EXPECT_FALSE(rules.check_token(headers));
  EXPECT_EQ(rules.token_number(headers), 2U);
}

TEST(HttpRules, WhatAStrangerSendsIsShownHarmlessly) {
  const auto refused = HttpRules(loopback()).check_sender(from("a\r\nb\x1b[31m"));
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->error.message, HasSubstr("'a??b?[31m'"));
  EXPECT_LT(HttpRules(loopback()).check_sender(from(std::string(10'000, 'x').c_str()))->error.message.size(),
            400U);
}

TEST(ConstantTime, ComparesAllOfIt) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const auto& [a, b] : {std::pair{"abc", "abd"},
                             {"abc", "bbc"},
                             {"abc", "ab"},
                             {"ab", "abc"},
                             {"", "a"},
                             {"a", ""},
                             {"ab", "abab"}})
    EXPECT_FALSE(equal_in_constant_time(a, b)) << a << " " << b;
}

}  // namespace
}  // namespace volvox
