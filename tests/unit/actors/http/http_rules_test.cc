// What a page in somebody's browser, or a stranger, can do at the HTTP door: nothing.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/unit/actors/http_house.h"

namespace volvox {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kInfer = "/v2/models/check/infer";

std::string part(const char* parameters) {
  return std::string(R"({"parameters":{"sequence_id":7,)") + parameters +
         R"(},"inputs":[{"name":"tokens","datatype":"INT32","shape":[1],"data":[12]}]})";
}

std::string as(const House& house, const std::string& headers, const std::string& body) {
  const Connection connection(house);
  connection.send("POST " + kInfer + " HTTP/1.1\r\n" + headers +
                  "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return connection.read_all();
}

const std::string kOwn = "Host: 127.0.0.1:7102\r\n";
const std::string kJson = "Content-Type: application/json\r\n";

TEST(HttpRules, APageEndsNobodysSequence) {
  House house(with_http());
  ASSERT_THAT(post(house, part(R"("sequence_start":true)"), kJson), StartsWith("HTTP/1.1 200 "));
  const std::string ends = part(R"("sequence_end":true)");
  // A form, or a fetch with mode no-cors: no preflight comes before them.
  expect_error(
      as(house,
         kOwn + "Origin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\nContent-Type: text/plain\r\n",
         ends),
      403, "PERMISSION_DENIED", "may not use this server");
  // The same from a browser that says less.
  expect_error(as(house, kOwn + "Origin: null\r\n" + kJson, ends), 403, "PERMISSION_DENIED", "may not use");
  expect_error(as(house, kOwn + "Sec-Fetch-Site: same-site\r\n" + kJson, ends), 403, "PERMISSION_DENIED",
               "may not use");
  for (const char* simple :
       {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"}) {
    expect_error(as(house, kOwn + "Content-Type: " + simple + "\r\n", ends), 415, "INVALID_ARGUMENT",
                 "--json");
  }
  // A page of the same origin as the browser sees it, whose name leads here.
  expect_error(
      as(house,
         "Host: evil.example:7102\r\nOrigin: http://evil.example:7102\r\nSec-Fetch-Site: same-origin\r\n" +
             kJson,
         ends),
      403, "PERMISSION_DENIED", "http.hosts");
  EXPECT_THAT(post(house, part(R"("sequence_end":false)"), kJson), StartsWith("HTTP/1.1 200 "))
      << "it goes on";
  wait_for_metric(house, R"(volvox_http_refused_total{reason="host"} 1)");
  wait_for_metric(house, R"(volvox_http_refused_total{reason="origin"} 3)");
  wait_for_metric(house, R"(volvox_http_refused_total{reason="content_type"} 3)");
}

TEST(HttpRules, APageReadsNothingEither) {
  House house(with_http());
  for (const char* path :
       {"/v2", "/v2/models/check", "/v2/models/check/stats", "/v2/health/ready", "/nothing"}) {
    const Connection rebound(house);
    rebound.send(std::string("GET ") + path + " HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    EXPECT_THAT(rebound.read_all(), StartsWith("HTTP/1.1 403 ")) << path;
    const Connection image(house);
    image.send(std::string("GET ") + path +
               " HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n");
    EXPECT_THAT(image.read_all(), StartsWith("HTTP/1.1 403 ")) << path;
  }
}

TEST(HttpRules, ThoseThatAreListedMay) {
  ServeConfig config = with_http();
  config.http.hosts = "models.example, other.example";
  config.http.origins = "https://app.example";
  House house(config);
  EXPECT_THAT(
      as(house,
         "Host: Models.example\r\nOrigin: https://app.example\r\nSec-Fetch-Site: cross-site\r\n" + kJson,
         kBody),
      StartsWith("HTTP/1.1 200 "));
}

TEST(HttpRules, ATokenIsAskedOfAllButProbes) {
  const std::string file = testing::TempDir() + "volvox-http-tokens";
  std::ofstream(file) << "first-token-0123456789\nsecond-token-0123456789\n";
  std::filesystem::permissions(file,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ServeConfig config = with_http();
  config.http.token = file;
  House house(config);
  const std::string none = post(house, kBody, kJson);
  expect_error(none, 401, "UNAUTHENTICATED", "Authorization: Bearer");
  EXPECT_THAT(none, HasSubstr("\r\nWWW-Authenticate: Bearer\r\n"));
  expect_error(post(house, kBody, kJson + "Authorization: Bearer third-token-0123456789\r\n"), 401,
               "UNAUTHENTICATED", "none of those");
  EXPECT_THAT(get(house, "/v2/models/check"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(get(house, "/v2/health/ready"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get(house, "/v2/health/live"), StartsWith("HTTP/1.1 200 "));
  for (const char* good : {"first-token-0123456789", "second-token-0123456789"}) {
    EXPECT_THAT(post(house, kBody, kJson + "Authorization: Bearer " + good + "\r\n"),
                StartsWith("HTTP/1.1 200 "));
  }
  wait_for_metric(house, R"(volvox_http_refused_total{reason="token"} 3)");
  std::filesystem::remove(file);
}

TEST(HttpRules, ATokenFileThatOthersReadIsAnError) {
  const std::string file = testing::TempDir() + "volvox-loose-tokens";
  std::ofstream(file) << "first-token-0123456789\n";
  std::filesystem::permissions(file,
                               std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  const House house;
  ServeConfig config = with_http();
  config.http.token = file;
  Monitor monitor("test");
  const auto server =
      Server::start(config, Devices{std::make_shared<TimedDevice>(TimedCost{})}, house.models, monitor);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("chmod 600"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace volvox
