// Sequences over HTTP at a whole server.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/unit/actors/http_house.h"

namespace volvox {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

using Tokens = std::vector<std::int32_t>;

std::string part(const Tokens& tokens, json parameters, const std::string& id = "") {
  json content;
  parameters["sequence_id"] = 7;
  content["parameters"] = std::move(parameters);
  if (!id.empty()) content["id"] = id;
  content["inputs"] = json::array();
  if (tokens.empty()) return content.dump();
  content["inputs"].push_back(
      {{"name", "tokens"}, {"datatype", "INT32"}, {"shape", {tokens.size()}}, {"data", tokens}});
  return content.dump();
}

const json kStart{{"sequence_start", true}}, kEnd{{"sequence_end", true}}, kPart = json::object();

void expect_state(const std::string& answer, const Tokens& all) {
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  const json content = content_of(answer);
  ASSERT_TRUE(content.is_object()) << answer;
  EXPECT_EQ(content["outputs"][0]["data"], json({check_answer(all)}));
}

TEST(HttpStream, PartsAreOnePass) {
  const House house(with_http());
  expect_state(post(house, part({1, 2}, kStart)), {1, 2});
  expect_state(post(house, part({3}, kPart)), {1, 2, 3});
  expect_state(post(house, kBody), kTokens);  // beside it
  expect_state(post(house, part({4, 5}, kPart)), {1, 2, 3, 4, 5});
  wait_for_metric(house, "volvox_http_sequences 1");
  expect_state(post(house, part({6}, kEnd)), {1, 2, 3, 4, 5, 6});
  wait_for_metric(house, "volvox_http_sequences 0");
  wait_for_metric(house, "volvox_sessions{state=\"live\"} 0");
}

TEST(HttpStream, AnEndMayBeEmpty) {
  const House house(with_http());
  expect_state(post(house, part({1, 2}, kStart)), {1, 2});
  const json content = content_of(post(house, part({}, kEnd)));
  ASSERT_TRUE(content.is_object());
  EXPECT_EQ(content["outputs"], json::array());
  wait_for_metric(house, "volvox_sessions{state=\"live\"} 0");
  expect_error(post(house, part({3}, kPart)), 410, "SESSION_LOST", "no sequence 7");
}

TEST(HttpStream, AWholeSequenceInOneRequest) {
  const House house(with_http());
  expect_state(post(house, part({1, 2}, {{"sequence_start", true}, {"sequence_end", true}})), {1, 2});
  expect_state(post(house, part({3}, kStart)), {3});
}

TEST(HttpStream, RepeatsAreAnsweredAgain) {
  const House house(with_http());
  for (int i = 0; i < 2; ++i) expect_state(post(house, part({1, 2}, kStart, "a")), {1, 2});
  for (int i = 0; i < 2; ++i) expect_state(post(house, part({3}, kPart, "b")), {1, 2, 3});
  for (int i = 0; i < 2; ++i) expect_state(post(house, part({4}, kEnd, "c")), {1, 2, 3, 4});
  wait_for_metric(house, "volvox_session_parts_total{outcome=\"committed\"} 3");
  wait_for_metric(house, "volvox_session_parts_total{outcome=\"repeated\"} 3");
}

TEST(HttpStream, WhatIsWrongIsSaid) {
  const House house(with_http());
  expect_error(post(house, part({1}, kPart)), 410, "SESSION_LOST", "no sequence 7");
  expect_error(post(house, part({1}, kEnd)), 410, "SESSION_LOST", "no sequence 7");
  expect_state(post(house, part({1}, kStart)), {1});
  expect_error(post(house, part({1}, kStart)), 409, "INVALID_ARGUMENT", "is in use");
  // A part that its model cannot run leaves no trace.
  const json tree{{"structure", {{"tree", {{"parents", {2, 2, -1}}}}}}};
  expect_error(post(house, part({1, 2, 3}, tree)), 400, "INVALID_ARGUMENT", "send a chain");
  expect_error(post(house, part({2}, kPart), "", "/v2/models/check/versions/2/infer"), 404, "MODEL_NOT_FOUND",
               "");
  expect_state(post(house, part({2}, kPart), "", "/v2/models/check/versions/1/infer"), {1, 2});
  expect_error(post(house, part({2}, kPart), "", "/v2/models/every/infer"), 410, "SESSION_LOST", "");
}

TEST(HttpStream, ItsSessionExpires) {
  ServeConfig config = with_http();
  config.sessions.idle_expiry_ms = 20;
  const House house(config);
  expect_state(post(house, part({1}, kStart)), {1});
  wait_for_metric(house, "volvox_sessions_ended_total{reason=\"expired\"} 1");
  expect_error(post(house, part({2}, kPart)), 410, "SESSION_EXPIRED", "");
  wait_for_metric(house, "volvox_http_sequences 0");
  expect_state(post(house, part({3}, kStart)), {3});
}

TEST(HttpStream, ItIsForgottenWithItsSession) {
  ServeConfig config = with_http();
  config.sessions.idle_expiry_ms = 20;
  config.sessions.remember_ms = 20;
  const House house(config);
  expect_state(post(house, part({1}, kStart)), {1});
  wait_for_metric(house, "volvox_http_sequences 0");
  expect_error(post(house, part({2}, kPart)), 410, "SESSION_LOST", "there is no sequence 7");
}

TEST(HttpStream, ThereMayBeNone) {
  ServeConfig config = with_http();
  config.http.max_sequences = 0;
  const House house(config);
  expect_error(post(house, part({1}, kStart)), 400, "INVALID_ARGUMENT", "keeps no sequences");
}

TEST(HttpStream, TwoAtOnceKeepTheirOrder) {
  const auto device = held_device();
  const House house(with_http(), device);
  const Connection first(house), second(house);
  first.post("/v2/models/check/infer", part({1, 2}, kStart));
  house.wait_for_live(1);
  second.post("/v2/models/check/infer", part({3}, kPart));
  wait_for_metric(house, "volvox_requests_in_flight 2");
  const LetRun run(device);
  expect_state(first.read_all(), {1, 2});
  expect_state(second.read_all(), {1, 2, 3});
}

// The client hangs up while the first part runs.
void give_up_a_start(const House& house) {
  {
    const Connection gone(house);
    gone.post("/v2/models/check/infer", part({1, 2}, kStart, "a"));
    house.wait_for_live(1);
  }
  wait_for_metric(house, "volvox_http_clients_gone_total 1");
}

TEST(HttpStream, AClientThatHangsUpMaySendAgain) {
  const auto device = held_device();
  const House house(with_http(), device);
  give_up_a_start(house);
  const LetRun run(device);
  expect_state(post(house, part({1, 2}, kStart, "a")), {1, 2});
  expect_state(post(house, part({3}, kPart, "b")), {1, 2, 3});
}

// The kernel keeps a segment back for 200 ms, not longer: where the client's thread rests for that time in
// between, the server reads a request of a client that has not hung up yet, and answers it.
TEST(HttpStream, AClientThatHasHungUpStartsNothing) {
  for (int tries = 1;; ++tries) {
    const House house(with_http());
    const Connection gone(house);
    gone.post_and_finish("/v2/models/check/infer", part({1, 2}, kStart, "a"));
    const std::string answer = gone.read_all();
    if (answer.starts_with("HTTP/1.1 200 ") && tries < 5) continue;
    expect_error(answer, 499, "CANCELLED", "the client is gone");
    wait_for_metric(house, "volvox_http_clients_gone_total 1");
    return wait_for_metric(house, "volvox_sessions_begun_total 0");
  }
}

TEST(HttpStream, AStartThatIsGivenUpLeavesNoSession) {
  const auto device = held_device();
  const House house(with_http(), device);
  give_up_a_start(house);
  wait_for_metric(house, "volvox_http_sequences 0");
  const LetRun run(device);
  wait_for_metric(house, "volvox_sessions{state=\"live\"} 0");
  wait_for_metric(house, "volvox_sessions_begun_total 1");
}

TEST(HttpStream, AFailureTakesThoseBehindItAlong) {
  const auto device = held_device();
  const House house(with_http(), device);
  auto first = std::make_unique<Connection>(house);
  first->post("/v2/models/check/infer", part({1}, kStart));
  house.wait_for_live(1);
  const Connection second(house);
  second.post("/v2/models/check/infer", part({2}, kPart));
  wait_for_metric(house, "volvox_requests_in_flight 2");
  first = nullptr;
  expect_error(second.read_all(), 409, "INVALID_ARGUMENT", "send both again");
  const LetRun run(device);
  expect_state(post(house, part({1}, kStart)), {1});
}

Status wait_for(const std::function<void(ModelHost::Done)>& command) {
  std::promise<Status> done;
  command([&](Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

TEST(HttpStream, AVersionThatIsUnloadedLosesItsSequences) {
  const House house(with_http());
  expect_state(post(house, part({1}, kStart)), {1});
  ModelHost& models = house.server->models();
  ASSERT_TRUE(wait_for([&](auto done) { models.unload("check", 1, done); }));
  expect_error(post(house, part({2}, kPart)), 404, "MODEL_NOT_FOUND", "");
  ASSERT_TRUE(wait_for([&](auto done) { models.load("check", 1, done); }));
  expect_error(post(house, part({2}, kPart)), 410, "SESSION_LOST", "");
  expect_state(post(house, part({3}, kStart)), {3});
}

}  // namespace
}  // namespace volvox
