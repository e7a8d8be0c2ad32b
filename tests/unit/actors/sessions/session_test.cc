// Sessions through a whole server: what a client sees, and that the answers are those of one undisturbed
// pass. The rules themselves are tested with SessionTable.

#include <chrono>
#include <future>
#include <random>

#include <gmock/gmock.h>

#include "actors/node/dispatcher.h"
#include "tests/unit/actors/session_house.h"

namespace volvox {
namespace {

TEST(Sessions, PartsGiveTheHashOfTheWholeStream) {
  const House house(session_config(), TimedCost{20, 0});
  CheckStream stream(house);
  stream.check({1, 2, 3});
  stream.check({4});
  stream.check({5, 6}, true);
  EXPECT_EQ(code_of(stream.send({7})), ErrorCode::kSessionExpired);
}

TEST(Sessions, MoreThanTheDeviceHoldsTakeTurnsOnIt) {
  std::mt19937_64 random(7);
  const House house(session_config(3), TimedCost{20, 0});
  std::vector<CheckStream> streams(40, CheckStream(house));
  for (int round = 0; round < 6; ++round) {
    const auto alone = house.submit({9, 9, 9});
    ASSERT_NO_FATAL_FAILURE(check_round(streams, random));
  }
  EXPECT_GT(metric(house, "volvox_session_restores_total"), 0);
  EXPECT_LE(metric(house, "volvox_session_states{where=\"device\"}"), 3);
  for (CheckStream& stream : streams) stream.end();
  EXPECT_EQ(metric(house, "volvox_sessions{state=\"live\"}"), 0);
  EXPECT_EQ(metric(house, "volvox_session_host_bytes"), 0);
  EXPECT_EQ(metric(house, "volvox_sessions_ended_total{reason=\"ended\"}"), 40);
}

TEST(Sessions, ARepeatIsAnsweredAgainAndNotRunTwice) {
  const House house(session_config());
  CheckStream stream(house, 77);
  const Tokens first{1, 2}, second{3};
  const ClientRequest begin = stream.part(first);
  const Reply begun = stream.send(first);
  const Reply again = house.ask(begin);
  EXPECT_EQ(state_in(again), check_answer(first));
  EXPECT_EQ(again.header.session, begun.header.session);
  const ClientRequest next = stream.part(second);
  stream.check(second);
  EXPECT_EQ(state_in(house.ask(next)), stream.expected());
  EXPECT_EQ(metric(house, "volvox_session_parts_total{outcome=\"committed\"}"), 2);
  EXPECT_EQ(metric(house, "volvox_session_parts_total{outcome=\"repeated\"}"), 2);
  EXPECT_EQ(metric(house, "volvox_sessions_begun_total"), 1);
  stream.check({4});
}

TEST(Sessions, ARepeatWithOtherContentIsRefusedAndTheStreamGoesOn) {
  const House house(session_config());
  CheckStream stream(house, 77);
  const Tokens first{1, 2}, second{3}, others{4, 4};
  ClientRequest begin = stream.part(first), other_begin = stream.part(others);
  stream.check(first);
  EXPECT_EQ(code_of(house.ask(other_begin)), ErrorCode::kInvalidArgument);
  const ClientRequest next = stream.part(second), other = stream.part(others);
  stream.check(second);
  const Reply refused = house.ask(other);
  EXPECT_EQ(code_of(refused), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.header.error.message, testing::HasSubstr("other content"));
  EXPECT_EQ(state_in(house.ask(next)), stream.expected());
  EXPECT_EQ(metric(house, "volvox_session_conflicts_total"), 2);
  stream.check(others);
}

TEST(Sessions, WhatIsWrittenDifferentlyIsTheSameContent) {
  const House house(session_config());
  CheckStream stream(house);
  stream.check({1});
  const Tokens second{3};
  ClientRequest next = stream.part(second);
  stream.check(second);
  next.body.outputs = {"state"};  // all there are, by name
  next.header.trace_lo = 9;
  next.header.deadline_us = 30'000'000;
  EXPECT_EQ(state_in(house.ask(next)), stream.expected());
}

TEST(Sessions, ANonceThatAnotherConnectionUsesToo) {
  const House house(session_config());
  const auto other = house.connect();
  const Tokens first{1, 2};
  const Reply mine = house.ask(CheckStream(house, 77).part(first));
  const Reply theirs = other->submit(CheckStream(house, 77).part(first)).get();
  EXPECT_NE(mine.header.session->id_lo, theirs.header.session->id_lo) << "they share a session";
  EXPECT_EQ(metric(house, "volvox_sessions_begun_total"), 2);
}

TEST(Sessions, ABeginIsRepeatedOverANewConnection) {
  const House house(session_config());
  const Tokens first{1, 2};
  const ClientRequest begin = CheckStream(house, SessionStream::begin()).part(first);
  const Reply mine = house.ask(begin);
  const Reply again = house.connect()->submit(begin).get();
  EXPECT_EQ(state_in(again), check_answer(first));
  EXPECT_EQ(mine.header.session, again.header.session);
  EXPECT_EQ(metric(house, "volvox_sessions_begun_total"), 1);
}

TEST(Sessions, PartsSentAheadWaitForTheirTurn) {
  const House house(session_config());
  CheckStream stream(house);
  stream.check({1});
  const Tokens second{2, 2}, third{3, 3, 3};
  ClientRequest later = stream.part(third);
  ++later.header.session->sequence;
  auto ahead = house.client->submit(later);
  stream.check(second);
  const Reply reply = stream.take(std::move(ahead), third);
  EXPECT_EQ(state_in(reply), stream.expected());
}

// The small part that follows it waits with it: it does not come ahead of its turn.
TEST(Sessions, ALargePartHoldsUpOnlyWhatFollowsOnItsConnection) {
  std::promise<void> held;
  FaultHooks faults;
  faults.reader = [go = held.get_future().share()](const IncomingRequest&) { go.wait(); };
  const House house(session_config(), TimedCost{0, 0}, faults);
  CheckStream stream(house);
  stream.check({1});
  const Tokens large(Dispatcher::kSmallBody / sizeof(std::int32_t), 3), small{4}, alone{1, 2};
  auto first = stream.submit(large);
  ClientRequest next = stream.part(small);
  ++next.header.session->sequence;
  auto second = house.client->submit(next);
  EXPECT_EQ(state_in(house.ask(alone)), check_answer(alone));
  const auto other = house.connect();
  ClientRequest begin = chain_request("check", "tokens", std::span(small));
  SessionStream(0).stamp(begin);
  EXPECT_EQ(state_in(other->submit(begin).get()), check_answer(small));
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(metric(house, "volvox_session_parked_parts"), 0) << "it has not overtaken the large one";
  held.set_value();
  const Reply there = stream.take(std::move(first), large);
  EXPECT_EQ(state_in(there), stream.expected());
  const Reply behind = stream.take(std::move(second), small);
  EXPECT_EQ(state_in(behind), stream.expected());
  stream.check(large);
  stream.check({5}, true);
}

TEST(Sessions, ALargePartIsCheckedAsASmallOneIs) {
  const House house(session_config());
  CheckStream stream(house);
  const Tokens large(Dispatcher::kSmallBody / sizeof(std::int32_t), 3);
  stream.check(large);
  Tokens other = large;
  ClientRequest wrong = stream.part(large);
  wrong.body.structure = ChainStructure{static_cast<std::uint32_t>(large.size()) - 1};
  EXPECT_EQ(code_of(house.ask(wrong)), ErrorCode::kInvalidArgument);
  ClientRequest streamed = stream.part(large);
  streamed.header.stream = true;
  EXPECT_EQ(code_of(house.ask(streamed)), ErrorCode::kInvalidArgument);
  const ClientRequest part = stream.part(large), repeated = part;
  stream.check(large);
  EXPECT_EQ(state_in(house.ask(repeated)), stream.expected());
  other.back() = 4;
  ClientRequest changed = chain_request("check", "tokens", std::span(other));
  changed.header.session = part.header.session;
  EXPECT_EQ(code_of(house.ask(changed)), ErrorCode::kInvalidArgument) << "other content under its number";
  stream.check({5}, true);
}

TEST(Sessions, ACancelledPartLeavesNoTrace) {
  const auto device = held_device();
  const House house(session_config(), device);
  CheckStream stream(house);
  auto begun = stream.submit({1, 2});
  {
    const LetRun run(device);
    stream.take(std::move(begun), {1, 2});
  }
  std::promise<Reply> cancelled;
  const Tokens lost{3, 4, 5};
  const auto id =
      house.client->submit(stream.part(lost), [&](Reply&& r) { cancelled.set_value(std::move(r)); });
  house.wait_for_live(1);
  house.client->cancel(*id);
  EXPECT_EQ(code_of(cancelled.get_future().get()), ErrorCode::kCancelled);
  const LetRun run(device);
  stream.check({6, 7});
  EXPECT_TRUE(device->errors().empty());
}

// A part that waits on the device for its first asker and a repeat, of whom only the first gives up.
struct AskedTwice {
  explicit AskedTwice(ServeConfig config, FaultHooks faults = {})
      : house(config, device, std::move(faults)), stream(house) {
    auto begun = stream.submit({1, 2});
    const LetRun run(device);
    stream.take(std::move(begun), {1, 2});
  }
  std::future<Reply> ask(const ClientRequest& part, std::uint64_t* id = nullptr) {
    auto answer = std::make_shared<std::promise<Reply>>();
    const auto sent = house.client->submit(part, [answer](Reply&& r) { answer->set_value(std::move(r)); });
    if (id != nullptr) *id = *sent;
    return answer->get_future();
  }
  void check(std::future<Reply> repeat) {
    const LetRun run(device);
    const Reply reply = stream.take(std::move(repeat), tokens);
    EXPECT_TRUE(reply.status()) << to_string(reply.status().error());
    EXPECT_EQ(state_in(reply), stream.expected());
  }

  const Tokens tokens{3, 4, 5};
  const std::shared_ptr<FakeDevice> device = held_device();
  House house;
  CheckStream stream;
};

TEST(Sessions, APartRunsForTheLatestOfItsAskers) {
  AskedTwice part(session_config());
  ClientRequest first = part.stream.part(part.tokens);
  first.header.deadline_us = 100'000;
  auto late = part.ask(first);
  part.house.wait_for_live(1);
  auto repeat = part.ask(part.stream.part(part.tokens));
  EXPECT_EQ(code_of(late.get()), ErrorCode::kDeadlineExceeded);
  part.check(std::move(repeat));
}

TEST(Sessions, TwoCancelsOfOneAskerLeaveThePartToTheOther) {
  std::promise<void> held, go;
  FaultHooks faults;
  faults.manager = [&, open = go.get_future().share()](const IncomingRequest& request) {
    if (request.header.trace_hi != kPoison) return;
    held.set_value();
    open.wait();
  };
  ServeConfig config = session_config();
  config.server.actor_threads = 2;
  AskedTwice part(config, faults);
  std::uint64_t id = 0;
  auto cancelled = part.ask(part.stream.part(part.tokens), &id);
  part.house.wait_for_live(1);
  auto repeat = part.ask(part.stream.part(part.tokens));
  wait_for_metric(part.house, "volvox_session_parts{state=\"waiting\"}", 1);
  // Both cancels come to the manager before it has answered the first.
  const Tokens tokens{9};
  auto blocking = part.ask(poisoned(tokens));
  held.get_future().wait();
  for (int i = 0; i < 2; ++i) part.house.client->cancel(id);
  EXPECT_EQ(code_of(part.house.ask(tokens, "nobody's")), ErrorCode::kModelNotFound) << "behind the cancels";
  go.set_value();
  EXPECT_EQ(code_of(cancelled.get()), ErrorCode::kCancelled);
  part.check(std::move(repeat));
  const LetRun run(part.device);
  const Reply blocked = blocking.get();
  EXPECT_TRUE(blocked.status()) << to_string(blocked.status().error());
  EXPECT_EQ(state_in(blocked), check_answer(tokens));
}

TEST(Sessions, APartThatFailsOnTheDeviceCanBeSentAgain) {
  const auto device = std::make_shared<FakeDevice>();
  const House house(session_config(), device);
  CheckStream stream(house);
  stream.check({1, 2});     // tasks 1 and 2
  device->fail_task(0, 4);  // the second step of the next part
  EXPECT_EQ(code_of(stream.send({3, 4, 5})), ErrorCode::kInternal);
  stream.check({3, 4, 5});
  EXPECT_TRUE(device->errors().empty());
}

TEST(Sessions, AnIdleOneExpires) {
  ServeConfig config = session_config();
  config.sessions.idle_expiry_ms = 10;
  const House house(config);
  CheckStream stream(house);
  stream.check({1});
  wait_for_metric(house, "volvox_sessions_ended_total{reason=\"expired\"}", 1);
  EXPECT_EQ(code_of(stream.send({2})), ErrorCode::kSessionExpired);
}

TEST(Sessions, AnEndWithoutAPartOnlyEndsIt) {
  const House house(session_config());
  CheckStream stream(house);
  stream.check({1});
  const ClientRequest end = stream.end_part();
  stream.end();
  EXPECT_TRUE(house.ask(end).status());
  EXPECT_TRUE(house.ask(end).status()) << "a repeated end";
  EXPECT_EQ(code_of(stream.send({2})), ErrorCode::kSessionExpired);
}

TEST(Sessions, TokensThatMeanNothingAreRefused) {
  const House house(session_config());
  CheckStream stream(house);
  stream.check({1});
  const Tokens tokens{2};
  const auto code = [&](auto change) {
    ClientRequest request = stream.part(tokens);
    change(request);
    return code_of(house.ask(request));
  };
  EXPECT_EQ(code([](ClientRequest& r) { r.header.session->id_lo ^= 1; }), ErrorCode::kSessionLost);
  EXPECT_EQ(code([](ClientRequest& r) { r.header.session->id_lo = r.header.session->id_hi = 0; }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](ClientRequest& r) { r.header.model = "every"; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](ClientRequest& r) { r.header.session->model_digest ^= 1; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](ClientRequest& r) { r.header.session->numerics_id ^= 1; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](ClientRequest& r) { r.header.session->epoch = 0; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](ClientRequest& r) { r.header.stream = true; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](ClientRequest& r) { r.body = {}; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code([](ClientRequest& r) { r.header.session->sequence = 100; }), ErrorCode::kOverloaded);
  stream.check({3});
}

TEST(Sessions, ThereMayBeNone) {
  ServeConfig config = session_config();
  config.sessions.max_sessions = 0;
  const House house(config);
  EXPECT_EQ(code_of(CheckStream(house).send({1})), ErrorCode::kInvalidArgument);
}

TEST(Sessions, OneTooManyIsRefusedAndTheOthersGoOn) {
  ServeConfig config = session_config();
  config.sessions.max_sessions = 2;
  const House house(config);
  CheckStream a(house), b(house), c(house);
  a.check({1});
  b.check({2});
  const Reply refused = c.send({3});
  EXPECT_EQ(code_of(refused), ErrorCode::kOverloaded);
  EXPECT_GT(refused.header.retry_after_us, 0U);
  a.end();
  c.check({3});
  b.check({4});
}

TEST(Sessions, WithoutHostMemoryThePartIsRefusedAndTheSessionsLive) {
  ServeConfig config = session_config(1);
  config.sessions.spill_mib = 0;
  const House house(config);
  CheckStream a(house), b(house);
  a.check({1});
  EXPECT_EQ(code_of(b.send({2})), ErrorCode::kOverloaded);
  a.check({3});
  a.end();
  b.check({2});
}

TEST(Sessions, EndWithTheDeviceThatHeldTheirStates) {
  std::atomic<bool> armed{false};
  FaultHooks faults;
  faults.worker = [&armed](const Task&) {
    if (armed.exchange(false)) throw std::runtime_error("poisoned");
  };
  const House house(session_config(), TimedCost{0, 0}, faults);
  CheckStream idle(house), running(house);
  idle.check({1});
  running.check({2});
  armed = true;
  const Reply failed = running.send({3});
  EXPECT_THAT((std::vector{ErrorCode::kInternal, ErrorCode::kUnavailable, ErrorCode::kSessionLost}),
              testing::Contains(code_of(failed)));
  EXPECT_TRUE(house.recovers());
  EXPECT_EQ(code_of(idle.send({4})), ErrorCode::kSessionLost);
  EXPECT_EQ(code_of(running.send({4})), ErrorCode::kSessionLost);
  CheckStream(house).check({5});
}

TEST(Sessions, EndWithTheManagerThatKnewThem) {
  FaultHooks faults;
  faults.manager = [](const IncomingRequest& request) {
    if (request.header.trace_hi == 1) throw std::runtime_error("poisoned");
  };
  const House house(session_config(), TimedCost{0, 0}, faults);
  CheckStream stream(house);
  stream.check({1});
  const Tokens tokens{2};
  ClientRequest poisoned = stream.part(tokens);
  poisoned.header.trace_hi = 1;
  EXPECT_EQ(code_of(house.ask(poisoned)), ErrorCode::kInternal);
  EXPECT_TRUE(house.recovers());
  EXPECT_EQ(code_of(stream.send({2})), ErrorCode::kSessionLost);
  CheckStream(house).check({5});
}

TEST(Sessions, ADrainAnswersPartsThatWaitForOthers) {
  const House house(session_config());
  CheckStream stream(house);
  stream.check({1});
  const Tokens tokens{3};
  ClientRequest ahead = stream.part(tokens);
  ++ahead.header.session->sequence;
  auto waiting = house.client->submit(ahead);
  wait_for_metric(house, "volvox_session_parts{state=\"waiting\"}", 1);
  EXPECT_TRUE(house.server->drain(kLongEnough));
  EXPECT_EQ(code_of(waiting.get()), ErrorCode::kSessionExpired);
}

// Every bit of every output of an LSTM, computed by interpreting the cells.
TEST(Sessions, AnLstmInPartsGivesTheSameBitsAsInOnePass) {
  const Scratch scratch;
  NewModel model;
  model.path = scratch.path() / "lstm";
  model.every_step = true;
  ASSERT_TRUE(write_new_model(model, "lstm", {.hidden = 12, .input = 6, .vocabulary = 50}));
  const Models models{load_model(model.path).value()};
  Monitor monitor("test");
  auto server = Server::start(session_config(1), Devices{std::make_shared<FakeDevice>()}, models, monitor);
  ASSERT_TRUE(server) << server.error().message;
  ClientOptions options;
  options.channel.endpoint = (*server)->endpoint();
  const auto client = std::move(Client::connect(options).value());
  const auto ask = [&](const Tokens& tokens, SessionStream* session) {
    ClientRequest request = chain_request("lstm", "tokens", std::span(tokens));
    if (session != nullptr) session->stamp(request);
    const Reply reply = client->submit(request).get();
    EXPECT_TRUE(reply.status()) << to_string(reply.status().error());
    if (session != nullptr) session->take(reply);
    const auto values = reply.body.find("h")->values<float>();
    return std::vector<float>(values->begin(), values->end());
  };
  const Tokens whole{7, 1, 49, 0, 3, 3, 12, 5, 30};
  SessionStream session(1), other(2);
  std::vector<float> rows;
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 4}, {4, 6}, {6, 9}}) {
    const auto part = ask(Tokens(whole.begin() + from, whole.begin() + to), &session);
    rows.insert(rows.end(), part.begin(), part.end());
    ask({8}, &other);  // takes the only place
  }
  EXPECT_EQ(rows, ask(whole, nullptr));
}

}  // namespace
}  // namespace volvox
