// Bundles through a whole server: each part is as if it had come alone.

#include "protocol/bundle.h"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>

#include "protocol/client/channel.h"
#include "tests/unit/actors/bundled_parts.h"

namespace volvox {
namespace {

using testing::HasSubstr;

TEST(Bundles, EachPartIsAnsweredAsIfItHadComeAlone) {
  std::mt19937_64 random(5);
  const House house(session_config(), TimedCost{20, 0});
  constexpr std::size_t kSessions = 300;
  std::vector<SessionStream> sessions;
  std::vector<Tokens> so_far(kSessions);
  for (std::size_t i = 0; i < kSessions; ++i) sessions.push_back(SessionStream::begin());
  for (int round = 0; round < 4; ++round) {
    Parts parts;
    for (std::size_t i = 0; i < kSessions; ++i) {
      const Tokens part = random_tokens(random);
      parts.add(sessions[i], part);
      so_far[i].insert(so_far[i].end(), part.begin(), part.end());
    }
    const std::vector<Reply> replies = parts.ask(house);
    ASSERT_EQ(replies.size(), kSessions);
    for (std::size_t i = 0; i < kSessions; ++i) {
      expect_state(replies[i], so_far[i]);
      ASSERT_TRUE(sessions[i].take(replies[i]));
      EXPECT_EQ(replies[i].header.session->sequence, static_cast<std::uint64_t>(round));
    }
  }
  EXPECT_EQ(metric(house, "volvox_session_parts_total{outcome=\"committed\"}"), 4 * kSessions);
  EXPECT_EQ(metric(house, "volvox_requests_total{outcome=\"ok\"}"), 4 * kSessions);
  wait_for_metric(house, "volvox_requests_in_flight", 0);
  wait_for_metric(house, "volvox_request_bytes_in_flight", 0);
}

TEST(Bundles, MixBeginsContinuesEndsAndPartsThatStandAlone) {
  const House house(session_config());
  CheckStream going(house), ending(house), over(house);
  for (CheckStream* stream : {&going, &ending, &over}) stream->check({1, 2});
  const Tokens one{3}, two{4, 5}, three{6, 6, 6};
  const std::vector<Reply> replies = Parts()
                                         .add(SessionStream::begin(), one)
                                         .add(going.session(), two)
                                         .add(ending.session(), three, true)
                                         .add(over.session(), {}, true)
                                         .add(WireSessionToken{}, two)
                                         .ask(house);
  ASSERT_EQ(replies.size(), 5U);
  expect_state(replies[0], one);
  expect_state(replies[1], {1, 2, 4, 5});
  expect_state(replies[2], {1, 2, 6, 6, 6});
  EXPECT_TRUE(replies[3].status());
  EXPECT_TRUE(replies[3].body.outputs.empty());
  ASSERT_TRUE(replies[3].header.session);
  expect_state(replies[4], two);
  EXPECT_FALSE(replies[4].header.session);
  EXPECT_EQ(code_of(ending.send({9})), ErrorCode::kSessionExpired);
  EXPECT_EQ(code_of(over.send({9})), ErrorCode::kSessionExpired);
}

// So much is read on its way to the manager.
TEST(Bundles, OfManyBytesMixSessionsAndPartsThatStandAlone) {
  const House house(session_config(), TimedCost{0, 0});
  constexpr std::size_t kParts = 80;
  const Tokens many(4'000, 7);  // of which so many are more than a mebibyte
  CheckStream going(house);
  going.check({1});
  Parts parts;
  parts.add(WireSessionToken{}, many).add(going.session(), many);
  for (std::size_t i = 2; i < kParts; ++i) parts.add(SessionStream::begin(), many);
  const std::vector<Reply> replies = parts.ask(house);
  ASSERT_EQ(replies.size(), kParts);
  Tokens all = many;
  all.insert(all.begin(), 1);
  expect_state(replies[0], many);
  EXPECT_FALSE(replies[0].header.session);
  expect_state(replies[1], all);
  for (std::size_t i = 2; i < kParts; ++i) expect_state(replies[i], many);
}

TEST(Bundles, SeveralPartsOfOneSessionRunInTheirOrder) {
  const House house(session_config(), TimedCost{20, 0});
  CheckStream stream(house);
  stream.check({1});
  WireSessionToken second = stream.session().next(), third = second, fourth = second;
  third.sequence += 1;
  fourth.sequence += 2;
  const std::vector<Reply> replies = Parts().add(fourth, {4}).add(second, {2}).add(third, {3, 3}).ask(house);
  expect_state(replies[1], {1, 2});
  expect_state(replies[2], {1, 2, 3, 3});
  expect_state(replies[0], {1, 2, 3, 3, 4});
}

TEST(Bundles, ARepeatIsAnsweredAgainAndNotRunTwice) {
  const House house(session_config());
  CheckStream stream(house);
  stream.check({1});
  const WireSessionToken next = stream.session().next();
  const std::vector<Reply> replies = Parts().add(next, {2}).add(next, {2}).add(next, {7}).ask(house);
  expect_state(replies[0], {1, 2});
  expect_state(replies[1], {1, 2});
  EXPECT_EQ(code_of(replies[2]), ErrorCode::kInvalidArgument) << "other content under the same number";
  const std::vector<Reply> later = Parts().add(next, {2}).ask(house);
  expect_state(later[0], {1, 2});
  EXPECT_EQ(later[0].header.session, replies[0].header.session);
  EXPECT_EQ(metric(house, "volvox_session_parts_total{outcome=\"committed\"}"), 2);
}

TEST(Bundles, WhatIsWrongWithAPartIsItsOwnTrouble) {
  const House house(session_config());
  CheckStream stream(house);
  stream.check({1});
  WireSessionToken stale = stream.session().next(), unknown = stale, none = stale;
  stale.epoch = 0;
  unknown.id_lo ^= 1;
  none.id_hi = none.id_lo = 0;
  WireSessionToken late_begin = SessionStream::begin().next();
  late_begin.sequence = 3;
  const std::vector<Reply> replies = Parts()
                                         .add(stale, {2})
                                         .add(unknown, {2})
                                         .add(none, {2})
                                         .add(late_begin, {2})
                                         .add(stream.session(), {})
                                         .add(SessionStream::begin(), {5})
                                         .add(stream.session(), {2})
                                         .ask(house);
  ASSERT_EQ(replies.size(), 7U);
  EXPECT_EQ(code_of(replies[0]), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(replies[1]), ErrorCode::kSessionLost);
  for (const std::size_t part : {2, 3, 4})
    EXPECT_EQ(code_of(replies[part]), ErrorCode::kInvalidArgument) << part;
  expect_state(replies[5], {5});
  expect_state(replies[6], {1, 2});
}

TEST(Bundles, ABundleThatMakesNoSenseIsRefusedAsAWhole) {
  ServeConfig config = session_config();
  config.wire.max_bundle_parts = 3;
  const House house(config);
  Parts unknown("nobody");
  unknown.add(SessionStream::begin(), {1});
  EXPECT_EQ(code_of(unknown.ask(house)[0]), ErrorCode::kModelNotFound);
  Parts many;
  for (int i = 0; i < 4; ++i) many.add(SessionStream::begin(), {1});
  for (const Reply& reply : many.ask(house)) {
    EXPECT_EQ(code_of(reply), ErrorCode::kInvalidArgument);
    EXPECT_THAT(reply.header.error.message, HasSubstr("1 to 3"));
  }
  EXPECT_EQ(metric(house, "volvox_bundles_total{outcome=\"refused\"}"), 1);
  EXPECT_EQ(metric(house, "volvox_bundles_total{outcome=\"taken\"}"), 1)
      << "a part's model is its own affair";
  EXPECT_EQ(metric(house, "volvox_bundled_parts_total"), 1);
  // A header that speaks of other parts than the body.
  ChannelOptions options;
  options.endpoint = house.server->endpoint();
  auto channel = Channel::connect(options);
  ASSERT_TRUE(channel);
  std::vector<BundleReply> replies;
  (*channel)->on_bundle([&](BundleReply&& reply) { replies.push_back(std::move(reply)); });
  RequestHeader header;
  header.model = "check";
  header.parts = 2;
  const std::vector<std::byte> garbage(64);
  ASSERT_TRUE((*channel)->send_bundle(header, WireBuffer::copy_of(garbage)));
  while ((*channel)->in_flight() > 0) (*channel)->poll(std::chrono::seconds(1), [](Reply&&) {});
  ASSERT_EQ(replies.size(), 1U);
  ASSERT_EQ(replies[0].body.errors.size(), 2U);
  EXPECT_EQ(replies[0].body.errors[1].error.code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(replies[0].local);
  wait_for_metric(house, "volvox_request_bytes_in_flight", 0);
}

TEST(Bundles, PartsCountAgainstTheBoundsOfRequests) {
  ServeConfig config = session_config();
  config.limits.max_requests_per_client = 3;
  const House house(config);
  Parts parts;
  for (int i = 0; i < 5; ++i) parts.add(WireSessionToken{}, {i});
  const std::vector<Reply> replies = parts.ask(house);
  for (int i = 0; i < 3; ++i) expect_state(replies[static_cast<std::size_t>(i)], {i});
  for (std::size_t i = 3; i < 5; ++i) {
    EXPECT_EQ(code_of(replies[i]), ErrorCode::kOverloaded);
    EXPECT_THAT(replies[i].header.error.message, HasSubstr("limits.max_requests_per_client"));
    EXPECT_GT(replies[i].header.retry_after_us, 0U);
  }
  EXPECT_NE(replies[3].header.retry_after_us, replies[4].header.retry_after_us) << "they come back apart";
  EXPECT_EQ(metric(house, "volvox_refused_total{bound=\"client\"}"), 2);
  wait_for_metric(house, "volvox_requests_in_flight", 0);
  Parts again;
  for (int i = 0; i < 3; ++i) again.add(WireSessionToken{}, {i});
  for (const Reply& reply : again.ask(house))
    EXPECT_TRUE(reply.status()) << "the answered ones take no place";
}

TEST(Bundles, OnePartThatWaitsDoesNotHoldUpTheOthers) {
  const House house(session_config());
  CheckStream stream(house);
  stream.check({1});
  WireSessionToken early = stream.session().next();
  ++early.sequence;
  Parts parts;
  parts.add(early, {3}).add(SessionStream::begin(), {9});
  const auto answers = parts.submit(*house.client);
  answers->wait_for(1);
  const std::vector<Reply> missing = Parts().add(stream.session(), {2}).ask(house);
  expect_state(missing[0], {1, 2});
  const std::vector<Reply> replies = answers->wait();
  expect_state(replies[0], {1, 2, 3});
  expect_state(replies[1], {9});
}

TEST(Bundles, PartsAreCancelledTogetherOrAlone) {
  const auto device = held_device();
  const House house(session_config(), device);
  Parts parts;
  for (int i = 0; i < 3; ++i) parts.add(SessionStream::begin(), {i});
  parts.add(WireSessionToken{}, {7});
  const auto answers = parts.submit(*house.client);
  house.wait_for_live(4);
  house.client->cancel(parts.first_id);
  wait_for_metric(house, "volvox_requests_total{outcome=\"cancelled\"}", 4);
  const LetRun run(device);
  for (const Reply& reply : answers->wait()) EXPECT_EQ(code_of(reply), ErrorCode::kCancelled);
  wait_for_metric(house, "volvox_sessions{state=\"live\"}", 0);
  wait_for_metric(house, "volvox_requests_in_flight", 0);
}

TEST(Bundles, OneOfThemIsCancelledByItsOwnId) {
  const auto device = held_device();
  const House house(session_config(), device);
  ChannelOptions options;
  options.endpoint = house.server->endpoint();
  auto channel = Channel::connect(options);
  ASSERT_TRUE(channel);
  Answers answers;
  bool done = false;
  (*channel)->on_bundle([&](BundleReply&& reply) {
    done = reply.final;
    answers.take(std::move(reply));
  });
  Parts parts;
  for (int i = 0; i < 3; ++i) parts.add(SessionStream::begin(), {i});
  parts.bundle.inputs = {wire_tensor("tokens", std::span(std::as_const(parts.tokens)))};
  const auto id = (*channel)->send(parts.bundle);
  ASSERT_TRUE(id);
  house.wait_for_live(3);
  ASSERT_TRUE((*channel)->cancel(*id + 1));
  wait_for_metric(house, "volvox_requests_total{outcome=\"cancelled\"}", 1);
  const LetRun run(device);
  while (!done) (*channel)->poll(std::chrono::seconds(1), [](Reply&&) {});
  const std::vector<Reply> replies = answers.wait();
  expect_state(replies[0], {0});
  EXPECT_EQ(code_of(replies[1]), ErrorCode::kCancelled);
  expect_state(replies[2], {2});
}

TEST(Bundles, ADeadlineIsThatOfEachPart) {
  const auto device = held_device();
  const House house(session_config(), device);
  Parts parts;
  parts.bundle.header.deadline_us = 50'000;
  parts.add(SessionStream::begin(), {1}).add(WireSessionToken{}, {2});
  const std::vector<Reply> replies = parts.ask(house);
  for (const Reply& reply : replies) {
    EXPECT_EQ(code_of(reply), ErrorCode::kDeadlineExceeded);
    EXPECT_FALSE(reply.local);
  }
  const LetRun run(device);
  wait_for_metric(house, "volvox_requests_in_flight", 0);
  wait_for_metric(house, "volvox_sessions{state=\"live\"}", 0);
}

TEST(Bundles, AClientsOwnTimeLimitIsThatOfEachPart) {
  const auto device = held_device();
  const House house(session_config(), device);
  Parts parts;
  parts.bundle.timeout = std::chrono::milliseconds(50);
  parts.add(SessionStream::begin(), {1}).add(WireSessionToken{}, {2});
  for (const Reply& reply : parts.ask(house)) {
    EXPECT_EQ(code_of(reply), ErrorCode::kDeadlineExceeded);
    EXPECT_TRUE(reply.local);
    EXPECT_TRUE(reply.header.undecided);
  }
  EXPECT_EQ(house.client->in_flight(), 0U);
  wait_for_metric(house, "volvox_requests_total{outcome=\"cancelled\"}", 2);
  const LetRun run(device);
  wait_for_metric(house, "volvox_requests_in_flight", 0);
}

TEST(Bundles, AServerThatStopsAnswersEachPart) {
  const auto device = held_device();
  const House house(session_config(), device);
  Parts parts;
  parts.add(SessionStream::begin(), {1}).add(WireSessionToken{}, {2});
  const auto answers = parts.submit(*house.client);
  house.wait_for_live(2);
  EXPECT_FALSE(house.server->drain(std::chrono::milliseconds(20)));
  const std::vector<Reply> replies = answers->wait();
  for (const Reply& reply : replies) {
    EXPECT_EQ(code_of(reply), ErrorCode::kUnavailable);
    EXPECT_FALSE(reply.local);
  }
  EXPECT_TRUE(replies[0].header.undecided) << "nobody knows of a part that runs";
  EXPECT_FALSE(replies[1].header.undecided);
}

TEST(Bundles, AClientThatVanishesLeavesNothingInFlight) {
  const auto device = held_device();
  ServeConfig config = session_config();
  config.limits.silent_client_ms = 1000;
  const House house(config, device);
  {
    ChannelOptions options;
    options.endpoint = house.server->endpoint();
    auto channel = Channel::connect(options);
    ASSERT_TRUE(channel);
    Parts parts;
    for (int i = 0; i < 50; ++i) parts.add(SessionStream::begin(), {i});
    parts.bundle.inputs = {wire_tensor("tokens", std::span(std::as_const(parts.tokens)))};
    ASSERT_TRUE((*channel)->send(parts.bundle));
    wait_for_metric(house, "volvox_sessions_begun_total", 50);
  }
  wait_for_metric(house, "volvox_requests_total{outcome=\"cancelled\"}", 50);
  const LetRun run(device);
  wait_for_metric(house, "volvox_live_requests{device=\"fake\"}", 0);
  wait_for_metric(house, "volvox_requests_in_flight", 0);
  wait_for_metric(house, "volvox_request_bytes_in_flight", 0);
}

TEST(Bundles, WhatAnActorThatFailsHeldIsAnswered) {
  FaultHooks faults;
  faults.manager = [](const IncomingRequest& request) {
    if (request.header.trace_hi == kPoison) throw std::runtime_error("poisoned");
  };
  const House house(session_config(), TimedCost{0, 0}, std::move(faults));
  Parts parts;
  parts.bundle.header.trace_hi = kPoison;
  parts.add(SessionStream::begin(), {1}).add(WireSessionToken{}, {2});
  const std::vector<Reply> replies = parts.ask(house);
  for (const Reply& reply : replies) EXPECT_EQ(code_of(reply), ErrorCode::kInternal);
  EXPECT_TRUE(replies[0].header.undecided);
  EXPECT_FALSE(replies[1].header.undecided);
  EXPECT_TRUE(house.recovers());
}

TEST(Bundles, IdsThatAreInFlightAreTheirPartsOwnTrouble) {
  const auto device = held_device();
  const House house(session_config(), device);
  ChannelOptions options;
  options.endpoint = house.server->endpoint();
  auto first = Channel::connect(options);
  ASSERT_TRUE(first);
  std::vector<std::uint32_t> done, failed;
  (*first)->on_bundle([&](BundleReply&& reply) {
    done.insert(done.end(), reply.body.done.begin(), reply.body.done.end());
    for (const PartError& error : reply.body.errors) failed.push_back(error.part);
  });
  const Tokens tokens{1};
  ClientRequest lone = chain_request("check", "tokens", std::span(tokens));
  lone.header.request_id = 11;
  ASSERT_TRUE((*first)->send(lone));
  house.wait_for_live(1);
  Parts parts;
  for (int i = 0; i < 3; ++i) parts.add(WireSessionToken{}, {i});
  parts.bundle.inputs = {wire_tensor("tokens", std::span(std::as_const(parts.tokens)))};
  parts.bundle.header.request_id = 10;
  ASSERT_TRUE((*first)->send(parts.bundle));
  house.wait_for_live(3);
  const LetRun run(device);
  std::size_t replies = 0;
  while ((*first)->in_flight() > 0) (*first)->poll(std::chrono::seconds(1), [&](Reply&&) { ++replies; });
  EXPECT_EQ(replies, 1U);
  EXPECT_EQ(failed, (std::vector<std::uint32_t>{1})) << "the request 11 had come before";
  std::sort(done.begin(), done.end());
  EXPECT_EQ(done, (std::vector<std::uint32_t>{0, 2}));
}

}  // namespace
}  // namespace volvox
