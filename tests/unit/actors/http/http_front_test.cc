#include "actors/http/http_front.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/unit/actors/http_house.h"

namespace volvox {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(HttpFront, AnswersARequest) {
  const House house(with_http());
  const std::string answer = post(house, kBody);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"));
  const json content = content_of(answer);
  ASSERT_TRUE(content.is_object()) << answer;
  EXPECT_EQ(content["model_name"], "check");
  EXPECT_EQ(content["model_version"], "1");
  EXPECT_EQ(content["outputs"][0]["data"], json({check_answer(kTokens)}));
  EXPECT_EQ(content["parameters"]["cells"], 3);
  const std::string metrics = house.monitor.metrics_page().body;
  EXPECT_THAT(metrics, HasSubstr("volvox_requests_total{outcome=\"ok\"} 1\n"));
  EXPECT_THAT(metrics,
              HasSubstr("volvox_model_requests_total{door=\"http\",model=\"check/1\",outcome=\"ok\"} 1\n"));
  EXPECT_THAT(metrics,
              HasSubstr("volvox_model_requests_total{door=\"http\",model=\"noop/1\",outcome=\"ok\"} 0\n"));
  EXPECT_THAT(metrics, HasSubstr("volvox_http_answers_total{status=\"200\"} 1\n"));
}

TEST(HttpFront, AnswersInBinary) {
  const House house(with_http());
  const std::string head =
      R"({"parameters":{"binary_data_output":true},"inputs":[{"name":"tokens","datatype":"INT32","shape":[3],)"
      R"("parameters":{"binary_data_size":12}}]})";
  const std::string tokens(reinterpret_cast<const char*>(kTokens.data()), 12);
  const std::string answer =
      post(house, head + tokens, "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nInference-Header-Content-Length: "));
  const std::uint64_t state = check_answer(kTokens);
  EXPECT_THAT(answer, EndsWith(std::string(reinterpret_cast<const char*>(&state), sizeof state)));
}

TEST(HttpFront, TakesWideTokensThatFit) {
  const House house(with_http());
  const auto body = [](const std::string& tokens) {
    return R"({"inputs":[{"name":"tokens","datatype":"INT64","shape":[3],"data":[)" + tokens + "]}]}";
  };
  const std::string three =
      std::to_string(kTokens[0]) + "," + std::to_string(kTokens[1]) + "," + std::to_string(kTokens[2]);
  EXPECT_EQ(content_of(post(house, body(three)))["outputs"][0]["data"], json({check_answer(kTokens)}));
  expect_error(post(house, body("1,2,4294967296")), 400, "INVALID_ARGUMENT", "4294967296 at 2");
}

TEST(HttpFront, JsonEndsWithItsLine) {
  const House house(with_http());
  for (const std::string& answer : {post(house, kBody), get(house, "/v2"), get(house, "/v2/models/nobody")})
    EXPECT_THAT(answer, EndsWith("}\n"));
}

TEST(HttpFront, DescribesItselfAndItsModels) {
  const House house(with_http());
  EXPECT_EQ(content_of(get(house, "/v2"))["name"], "volvox");
  EXPECT_EQ(content_of(get(house, "/v2/health/live")), (json{{"live", true}}));
  EXPECT_EQ(content_of(get(house, "/v2/health/ready")), (json{{"ready", true}}));
  EXPECT_EQ(content_of(get(house, "/v2/models/check/ready"))["ready"], true);
  EXPECT_THAT(get(house, "/v2/health/ready", "HEAD"), EndsWith("\r\n\r\n"));
  const json model = content_of(get(house, "/v2/models/check/versions/1"));
  EXPECT_EQ(model["versions"], json({"1"}));
  EXPECT_EQ(model["inputs"][0], (json{{"name", "tokens"}, {"datatype", "INT32"}, {"shape", {-1}}}));
  EXPECT_EQ(model["outputs"][0]["datatype"], "UINT64");
}

TEST(HttpFront, CountsByModel) {
  const House house(with_http());
  ASSERT_THAT(post(house, kBody), StartsWith("HTTP/1.1 200"));
  ASSERT_TRUE(house.ask(kTokens).status());  // by the other door
  const json model = content_of(get(house, "/v2/models/check/stats"))["model_stats"][0];
  EXPECT_EQ(model["name"], "check");
  EXPECT_EQ(model["inference_count"], 2);
  EXPECT_EQ(model["inference_stats"]["success"]["count"], 2);
  EXPECT_GT(model["execution_count"], 0);
  EXPECT_EQ(content_of(get(house, "/v2/models/noop/stats"))["model_stats"][0]["inference_count"], 0);
}

TEST(HttpFront, ErrorsAreTyped) {
  const House house(with_http());
  expect_error(post(house, "{"), 400, "INVALID_ARGUMENT", "no JSON");
  expect_error(post(house, kBody, "", "/v2/models/nobody/infer"), 404, "MODEL_NOT_FOUND",
               "'check', 'every', 'noop'");
  expect_error(post(house, kBody, "", "/v2/models/check/versions/7/infer"), 404, "MODEL_NOT_FOUND",
               "it has 1");
  expect_error(post(house, kBody, "Content-Encoding: gzip\r\n"), 415, "INVALID_ARGUMENT", "plain");
  expect_error(post(house, kBody, "Inference-Header-Content-Length: a\r\n"), 400, "INVALID_ARGUMENT", "JSON");
  expect_error(get(house, "/v2/models/check/infer"), 405, "INVALID_ARGUMENT", "POST");
  EXPECT_THAT(get(house, "/v2/models/check/infer"), HasSubstr("\r\nAllow: POST\r\n"));
  expect_error(get(house, "/v2/models/check", "DELETE"), 405, "INVALID_ARGUMENT", "GET");
  expect_error(get(house, "/v2/models"), 404, "MODEL_NOT_FOUND", "no such path");
  expect_error(get(house, "/v2/models/nobody/stats"), 404, "MODEL_NOT_FOUND", "no model");
  // What only the model's own check sees.
  const std::string words = R"({"inputs":[{"name":"words","datatype":"INT32","shape":[1],"data":[1]}]})";
  expect_error(post(house, words), 400, "INVALID_ARGUMENT", "'words' is none of the model's");
  const std::string tree = R"({"parameters":{"structure":{"tree":{"parents":[2,2,-1]}}},)" + kBody.substr(1);
  expect_error(post(house, tree), 400, "INVALID_ARGUMENT", "send a chain");
  const std::string ring = R"({"parameters":{"structure":{"tree":{"parents":[1,0]}}},)" + kBody.substr(1);
  expect_error(post(house, ring), 400, "INVALID_ARGUMENT", "children come before parents");
  EXPECT_THAT(post(house, kBody), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(house.monitor.metrics_page().body, HasSubstr("volvox_actor_restarts_total 0\n"));
}

TEST(HttpFront, BytesThatAreNoHttpHarmNobody) {
  const House house(with_http());
  for (const std::string& junk :
       {std::string("\x16\x03\x01 not http\r\n\r\n"), std::string(20'000, 'x') + "\r\n\r\n",
        std::string("POST /v2/models/check/infer HTTP/1.1\r\n"
                    "Content-Length: -5\r\n\r\n{}"),
        std::string("GET /../../etc/passwd HTTP/1.1\r\n\r\n")}) {
    const Connection connection(house);
    connection.send(junk);
    EXPECT_THAT(connection.read_all(), testing::Not(HasSubstr(" 200 ")));
  }
  EXPECT_THAT(post(house, kBody), StartsWith("HTTP/1.1 200"));
}

TEST(HttpFront, ContentsThatAreTooLargeAreRefusedUnread) {
  ServeConfig config = with_http();
  config.http.max_content_mib = 1;
  const House house(config);
  expect_error(post(house, std::string((1 << 20) + 1, ' ')), 413, "INVALID_ARGUMENT", "larger than 1048576");
  const Connection pieces(house);
  pieces.send(
      "POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string piece = "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
  for (int i = 0; i < 17; ++i) pieces.send(piece);
  expect_error(pieces.read_all(), 413, "INVALID_ARGUMENT", "larger than 1048576");
}

TEST(HttpFront, AsksForTheContentThatAClientHoldsBack) {
  const House house(with_http());
  const std::string answer = post(house, kBody, "Expect: 100-continue\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"));
}

TEST(HttpFront, RefusesWhatExceedsItsThreadsAtOnce) {
  ServeConfig config = with_http();
  config.http.max_requests = 2;
  config.limits.retry_after_ms = 1500;
  const auto device = held_device();
  const House house(config, device);
  const Connection first(house), second(house);
  first.post("/v2/models/check/infer", kBody);
  second.post("/v2/models/check/infer", kBody);
  house.wait_for_live(2);
  for (int i = 0; i < 20; ++i) {
    const std::string answer = post(house, kBody);
    expect_error(answer, 429, "OVERLOADED", "http.max_requests");
    // Each another moment: the advice, and up to half as long again.
    EXPECT_THAT(answer, ContainsRegex(
                            "\r\nRetry-After: [23]\r\nVolvox-Retry-After-Ms: (1[5-9]|2[0-2])[0-9][0-9]\r\n"));
  }
  EXPECT_THAT(get(house, "/v2/health/live"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(house.monitor.metrics_page().body, HasSubstr("volvox_http_requests_in_progress 2\n"));
  const LetRun run(device);
  EXPECT_THAT(first.read_all(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(second.read_all(), StartsWith("HTTP/1.1 200"));
}

TEST(HttpFront, SharesTheBoundsOfTheOtherDoor) {
  ServeConfig config = with_http();
  config.limits.max_requests_in_flight = 1;
  const auto device = held_device();
  const House house(config, device);
  auto other = house.submit(kTokens);
  house.wait_for_live(1);
  expect_error(post(house, kBody), 429, "OVERLOADED", "too many requests are in flight");
  const LetRun run(device);
  EXPECT_EQ(state_in(other.get()), check_answer(kTokens));
}

TEST(HttpFront, BoundsTheMemoryOfContents) {
  ServeConfig config = with_http();
  config.http.max_content_mib = 1;
  config.http.max_mib = 17;  // of one content
  const House house(config);
  const Connection half(house);
  half.send("POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n" +
            std::string(600'000, ' '));
  wait_for_metric(house, "volvox_http_bytes_in_progress 17825792");
  expect_error(post(house, kBody), 429, "OVERLOADED", "http.max_mib");
}

// Memory is set aside for what has come: seven times the memory for one content is announced here.
TEST(HttpFront, AnAnnouncementHoldsLittle) {
  ServeConfig config = with_http();
  config.http.max_content_mib = 1;
  config.http.max_mib = 17;  // of one content
  const House house(config);
  std::vector<std::unique_ptr<Connection>> halves;
  for (int i = 0; i < 7; ++i) {
    halves.push_back(std::make_unique<Connection>(house));
    const std::string length = i % 2 == 0 ? "Content-Length: 1048576" : "Transfer-Encoding: chunked";
    halves.back()->send("POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\n" + length + "\r\n\r\n1");
  }
  wait_for_metric(house, "volvox_http_requests_in_progress 7");
  EXPECT_THAT(post(house, kBody), StartsWith("HTTP/1.1 200"));
}

TEST(HttpFront, ADeadlineEndsARequest) {
  ServeConfig config = with_http();
  config.http.max_wait_ms = 30;
  const House house(config, held_device());
  expect_error(post(house, R"({"parameters":{"timeout":10000},)" + kBody.substr(1)), 504, "DEADLINE_EXCEEDED",
               "deadline");
  expect_error(post(house, kBody), 504, "DEADLINE_EXCEEDED", "deadline");
  expect_error(post(house, R"({"parameters":{"timeout":1000000000000},)" + kBody.substr(1)), 504,
               "DEADLINE_EXCEEDED", "deadline");
}

TEST(HttpFront, AModelsOwnDeadlineEndsARequestThatGivesNone) {
  ServeConfig config = with_http();
  config.model = {{.name = "check", .default_deadline_ms = 30}};
  const House house(config, held_device());
  expect_error(post(house, kBody), 504, "DEADLINE_EXCEEDED", "deadline");
}

TEST(HttpFront, AClientThatHangsUpTakesItsRequestWithIt) {
  ServeConfig config = with_http();
  config.http.max_requests = 1;
  const auto device = held_device();
  const House house(config, device);
  {
    const Connection connection(house);
    connection.post("/v2/models/check/infer", kBody);
    house.wait_for_live(1);
  }
  wait_for_metric(house, "volvox_http_clients_gone_total 1");
  wait_for_metric(house, "volvox_http_requests_in_progress 0");
  EXPECT_THAT(house.monitor.metrics_page().body,
              HasSubstr("volvox_requests_total{outcome=\"cancelled\"} 1\n"));
  const LetRun run(device);
  house.wait_for_live(0);
  EXPECT_THAT(post(house, kBody), StartsWith("HTTP/1.1 200"));
}

TEST(HttpFront, AClientThatSendsTooSlowlyIsToldSo) {
  ServeConfig config = with_http();
  config.http.io_timeout_ms = 50;
  config.http.max_requests = 1;
  const House house(config);
  const Connection slow(house);
  slow.send("POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{");
  expect_error(slow.read_all(), 408, "INVALID_ARGUMENT", "too slowly");
  const Connection pieces(house);
  pieces.send(
      "POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
      "chunked\r\n\r\n1\r\n{\r\n");
  expect_error(pieces.read_all(), 408, "INVALID_ARGUMENT", "too slowly");
  // A byte now and then does not help.
  const Connection drip(house);
  drip.send("POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  for (int i = 0; i < 100'000 && drip.send(" "); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(drip.send(" "));
  EXPECT_THAT(post(house, kBody), StartsWith("HTTP/1.1 200"));
}

TEST(HttpFront, RequestsInFlightEndInADrainAndNewOnesAreRefused) {
  const auto device = held_device();
  const House house(with_http(), device);
  const Connection before(house);
  before.post("/v2/models/check/infer", kBody);
  house.wait_for_live(1);
  auto drained = std::async(std::launch::async, [&] { return house.server->drain(kLongEnough); });
  while (house.monitor.readiness_page().status == 200) std::this_thread::yield();
  expect_error(post(house, kBody), 503, "UNAVAILABLE", "shutting down");
  EXPECT_THAT(get(house, "/v2/health/ready"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(get(house, "/v2/health/live"), StartsWith("HTTP/1.1 200 "));
  const LetRun run(device);
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(content_of(before.read_all())["outputs"][0]["data"], json({check_answer(kTokens)}));
}

TEST(HttpFront, WhatADrainCannotWaitForIsAnsweredUnavailable) {
  const House house(with_http(), held_device());
  const Connection waiting(house), sending(house), silent(house);
  waiting.post("/v2/models/check/infer", kBody);
  sending.send("POST /v2/models/check/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{");
  house.wait_for_live(1);
  EXPECT_FALSE(house.server->drain(std::chrono::milliseconds(20)));
  expect_error(waiting.read_all(), 503, "UNAVAILABLE", "shut down before");
  EXPECT_THAT(sending.read_all(), testing::Not(HasSubstr(" 200 ")));
  EXPECT_EQ(silent.read_all(), "");
}

TEST(HttpFront, ATakenAddressIsAClearError) {
  const House house(with_http());
  ServeConfig config = loopback();
  config.http.listen = "127.0.0.1:" + std::to_string(house.server->http_port());
  Monitor monitor("test");
  const auto second =
      Server::start(config, Devices{std::make_shared<TimedDevice>(TimedCost{})}, house.models, monitor);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("cannot be bound for http.listen"));
}

TEST(HttpFront, NoAddressNoListener) {
  const House house;
  EXPECT_EQ(house.server->http_port(), 0);
}

}  // namespace
}  // namespace volvox
