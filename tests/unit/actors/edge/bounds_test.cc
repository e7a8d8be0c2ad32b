// What the server refuses, whom it gives up on, and that it goes on.

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "actors/edge/admission.h"
#include "actors/node/model_host.h"
#include "base/clock.h"
#include "protocol/codec/bundle_codec.h"
#include "protocol/sockets/zmq_socket.h"
#include "tests/unit/actors/house.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::int32_t> kHundred(100, 3);

ClientRequest due_in(const std::vector<std::int32_t>& tokens, Duration deadline) {
  ClientRequest request = chain_request("check", "tokens", std::span(tokens));
  request.header.deadline_us = microseconds(deadline);
  return request;
}

// A held device on which a step takes a millisecond, by its own account, whatever the batch.
std::shared_ptr<FakeDevice> slow_held_device() {
  FakeDevice::Options options;
  options.run_when_waited_for = false;
  options.config.costs = {{1, 1000.0}, {64, 1000.0}};
  return std::make_shared<FakeDevice>(options);
}

TEST(Admission, NumbersCountsAndRefuses) {
  ServeConfig config = loopback();
  config.limits.max_requests_in_flight = 2;
  config.wire.max_body_bytes = 1024;
  const Scratch scratch;
  Monitor monitor("test");
  const NodePtr node = make_node(config, Devices{held_device()}, monitor);
  ModelHost host(node, {std::make_shared<ActorSlot>()}, {}, monitor.models());
  ASSERT_TRUE(host.install(write_models(scratch)));
  Admission admission(config, node);
  const RequestHeader header = chain_request("check", "tokens", std::span(kHundred)).header;
  const std::vector<std::byte> bytes(1025);
  const std::span<const std::byte> large(bytes), body = large.first(1024);
  auto first = admission.admit({"a", ""}, header, body);
  ASSERT_TRUE(first);
  auto second = admission.admit({"b", ""}, header, body);
  ASSERT_TRUE(second);
  EXPECT_NE((*first)->key, (*second)->key);
  EXPECT_EQ(admission.gauge().bytes(), 2048U);
  EXPECT_EQ(admission.clients(), 2U);
  EXPECT_EQ(admission.backlog(), Duration::zero()) << "of requests that nobody has read nothing is known";
  static_cast<void>((*first)->place->correct(100, Duration::max()));
  EXPECT_GT(admission.backlog(), Duration::zero());
  EXPECT_EQ(admission.admit({"c", ""}, header, body).error().error.code, ErrorCode::kOverloaded);
  EXPECT_EQ(admission.admit({"c", ""}, header, large).error().error.code, ErrorCode::kInvalidArgument);
  *first = nullptr;
  EXPECT_EQ(admission.gauge().requests(), 1U);
  EXPECT_EQ(admission.admit({"c", ""}, {}, body).error().error.code, ErrorCode::kModelNotFound);
  EXPECT_TRUE(admission.admit({"c", ""}, header, body));
  *second = nullptr;
  EXPECT_EQ(admission.backlog(), Duration::zero());
  admission.refuse_new_requests();
  EXPECT_EQ(admission.admit({"c", ""}, header, body).error().error.code, ErrorCode::kUnavailable);
}

TEST(Admission, CopiesABodyThatIsOnlyLent) {
  Monitor monitor("test");
  Admission admission(loopback(), monitor.requests());
  const auto bytes_of = [](const RequestPtr& request) {
    return (*request->body.message(request, WireLimits()))->bytes();
  };
  WireBuffer body = WireBuffer::copy_of(std::as_bytes(std::span(kHundred)));
  const auto lent = admission.admit({"a", ""}, {}, body.bytes());
  ASSERT_TRUE(lent);
  EXPECT_NE(bytes_of(*lent).data(), body.data());
  EXPECT_TRUE(std::ranges::equal(bytes_of(*lent), body.bytes()));
  const std::byte* at = body.data();
  const auto kept = admission.admit({"a", ""}, {}, IncomingBody(std::move(body)));
  ASSERT_TRUE(kept);
  EXPECT_EQ(bytes_of(*kept).data(), at);
  const auto own = WireBuffer::share_copy_of(std::as_bytes(std::span(kHundred)));
  const auto as_the_door_says =
      admission.admit({"a", ""}, {}, OfferedBody(own->bytes(), [&own] { return own; }));
  ASSERT_TRUE(as_the_door_says);
  EXPECT_EQ(bytes_of(*as_the_door_says).data(), own->data());
  const auto none = admission.admit({"a", ""}, {}, {});
  ASSERT_TRUE(none);
  EXPECT_EQ((*none)->body.size(), 0U);
}

TEST(Admission, CountsWhatAKeyHasInFlight) {
  ServeConfig config = loopback();
  config.client = {{.name = "alice", .max_requests = 1}};
  Monitor monitor("test");
  Admission admission(config, monitor.requests());
  const auto first = admission.admit({"a", "alice"}, {}, {});
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->account, "alice");
  const auto second = admission.admit({"b", "alice"}, {}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().error.code, ErrorCode::kOverloaded);
  EXPECT_GT(second.error().retry_after_us, 0U);
  EXPECT_TRUE(admission.admit({"b", "bob"}, {}, {}));
  EXPECT_TRUE(admission.admit({{}, "alice"}, {}, {})) << "its router has counted it";
  EXPECT_THAT(monitor.metrics_page().body, HasSubstr("\nvolvox_refused_total{bound=\"key\"} 1\n"));
}

TEST(Admission, AppliesTheRulesOfTheModelsTable) {
  ServeConfig config = loopback();
  config.model = {{.name = "slow", .default_deadline_ms = 200, .max_deadline_ms = 500},
                  {.name = "batch", .max_deadline_ms = 1000, .priority = PriorityChoice::kLow}};
  Monitor monitor("test");
  const Admission admission(config, make_node(config, Devices{held_device()}, monitor));
  const auto ruled = [&](const char* model, std::uint64_t deadline_us, WirePriority priority) {
    RequestHeader header;
    header.model = model;
    header.deadline_us = deadline_us;
    header.priority = priority;
    admission.apply_rules(header);
    return header;
  };
  EXPECT_EQ(ruled("slow", 0, WirePriority::kNormal).deadline_us, 200'000U);
  EXPECT_EQ(ruled("slow", 300'000, WirePriority::kNormal).deadline_us, 300'000U);
  EXPECT_EQ(ruled("slow", 900'000, WirePriority::kNormal).deadline_us, 500'000U);
  EXPECT_EQ(ruled("batch", 0, WirePriority::kNormal).deadline_us, 1'000'000U);
  EXPECT_EQ(ruled("batch", 0, WirePriority::kNormal).priority, WirePriority::kLow);
  EXPECT_EQ(ruled("batch", 0, WirePriority::kHigh).priority, WirePriority::kHigh);
  EXPECT_EQ(ruled("other", 0, WirePriority::kNormal).deadline_us, 0U);
  EXPECT_EQ(ruled("other", 900'000'000, WirePriority::kNormal).deadline_us, 900'000'000U);
}

// Alice may have `high` and bob may not. A router has cut its clients' priorities before it vouches for them.
class PriorityAtTheDoor : public testing::Test {
 protected:
  static ServeConfig with_keys() {
    ServeConfig config = loopback();
    config.security.server_key = "server.key";
    config.client = {{.name = "alice", .max_priority = PriorityChoice::kHigh}};
    return config;
  }
  static RequestHeader urgent() {
    RequestHeader header;
    header.priority = WirePriority::kHigh;
    return header;
  }
  double cut() const {
    const std::string name = "\nvolvox_priorities_cut_total ", page = monitor_.metrics_page().body;
    const std::size_t at = page.find(name);
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size()));
  }

  const Caller alice_{"a", "alice"}, bob_{"b", "bob"}, far_bob_{{}, "bob", true, 77};
  Monitor monitor_{"test"};
  Admission admission_{with_keys(), monitor_.requests()};
};

TEST_F(PriorityAtTheDoor, IsAsHighAsTheClientMayHave) {
  const auto given = [&](const Caller& caller) {
    const auto admitted = admission_.admit(caller, urgent(), {});
    EXPECT_TRUE(admitted);
    return admitted ? (*admitted)->header.priority : WirePriority::kLow;
  };
  EXPECT_EQ(given(alice_), WirePriority::kHigh);
  EXPECT_EQ(given(far_bob_), WirePriority::kHigh);
  EXPECT_EQ(cut(), 0.0);
  EXPECT_EQ(given(bob_), WirePriority::kNormal);
  EXPECT_EQ(cut(), 1.0);
}

TEST_F(PriorityAtTheDoor, OfABundleIsThatOfEachPart) {
  ClientBundle bundle;
  bundle.header = urgent();
  for (int i = 0; i < 2; ++i) bundle.parts.add(WireSessionToken{}, 1);
  const std::vector<std::int32_t> tokens(2, 3);
  bundle.inputs = {wire_tensor("tokens", std::span(tokens))};
  const auto body = encode_request_bundle(bundle.body(), WireLimits());
  ASSERT_TRUE(body) << body.error().message;
  const auto given = [&](const Caller& caller) {
    std::vector<WirePriority> priorities;
    const auto admitted = admission_.admit_bundle(caller, bundle.counted_header(), body->bytes());
    EXPECT_TRUE(admitted);
    if (!admitted) return priorities;
    for (const auto& part : admitted->parts) priorities.push_back(part->header.priority);
    return priorities;
  };
  EXPECT_THAT(given(alice_), ElementsAre(WirePriority::kHigh, WirePriority::kHigh));
  EXPECT_THAT(given(far_bob_), ElementsAre(WirePriority::kHigh, WirePriority::kHigh));
  EXPECT_EQ(cut(), 0.0);
  EXPECT_THAT(given(bob_), ElementsAre(WirePriority::kNormal, WirePriority::kNormal));
  EXPECT_EQ(cut(), 1.0) << "it was asked for once";
}

TEST(Bounds, OneClientCannotTakeAllThereIs) {
  ServeConfig config = loopback();
  config.limits.max_requests_per_client = 4;
  config.limits.retry_after_ms = 7;
  const auto device = held_device();
  const House house(config, device);
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(house.submit(kHundred));
  house.wait_for_live(4);
  const Reply refused = house.ask(kHundred);
  EXPECT_EQ(code_of(refused), ErrorCode::kOverloaded);
  EXPECT_THAT(refused.header.error.message, HasSubstr("limits.max_requests_per_client"));
  EXPECT_GE(refused.header.retry_after_us, 7000U);
  EXPECT_EQ(metric(house, "volvox_refused_total{bound=\"client\"}"), 1.0);
  // What is accepted stays as it is meanwhile, and so does the advice before it is spread.
  constexpr std::size_t kRefusals = 8;
  std::set<std::uint64_t> advice{refused.header.retry_after_us};
  for (std::size_t i = 1; i < kRefusals; ++i) advice.insert(house.ask(kHundred).header.retry_after_us);
  EXPECT_EQ(advice.size(), kRefusals) << "they would all come back together";
  const auto other = house.connect();
  auto theirs = other->submit(chain_request("check", "tokens", std::span(kHundred)));
  house.wait_for_live(5);
  const LetRun run(device);
  for (auto& answer : answers) EXPECT_EQ(state_in(answer.get()), check_answer(kHundred));
  EXPECT_EQ(state_in(theirs.get()), check_answer(kHundred));
}

TEST(Bounds, ASilentClientIsGoneAndALivelyOneIsNot) {
  ServeConfig config = loopback();
  config.limits.silent_client_ms = 1200;
  const auto device = held_device();
  const House house(config, device);
  auto lively = house.submit(kHundred);
  ChannelOptions options;
  options.endpoint = house.server->endpoint();
  options.sign_of_life = Duration{0};
  auto silent = Channel::connect(options).value();
  ASSERT_TRUE(silent->send(chain_request("check", "tokens", std::span(kHundred))));
  house.wait_for_live(2);
  wait_for_metric(house, "volvox_lost_clients_total{reason=\"silent\"}", 1);
  const LetRun run(device);
  EXPECT_EQ(state_in(lively.get()), check_answer(kHundred));
  wait_for_metric(house, "volvox_requests_in_flight", 0);
  EXPECT_EQ(metric(house, "volvox_lost_clients_total{reason=\"silent\"}"), 1.0);
  // It only slept.
  std::vector<Reply> told;
  const TimePoint until = steady_now() + std::chrono::seconds(20);
  while (told.empty() && steady_now() < until)
    silent->poll(milliseconds(50), [&](Reply&& reply) { told.push_back(std::move(reply)); });
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(code_of(told[0]), ErrorCode::kCancelled);
  EXPECT_THAT(told[0].header.error.message, HasSubstr("nothing was heard of the client"));
}

TEST(Bounds, AMessageOfOneFrameCountsAsRefused) {
  const House house;
  ZmqContext context;
  ZmqSocket client(context, ZMQ_DEALER);
  ASSERT_TRUE(client.connect(house.server->endpoint()));
  ZmqFrame frame(std::as_bytes(std::span("no header")));
  ASSERT_EQ(frame.send(client.handle(), false), 0);
  wait_for_metric(house, "volvox_requests_total{outcome=\"invalid_argument\"}", 1);
}

TEST(Bounds, WhatRunsLongerThanItMayIsRefusedAtOnce) {
  const auto device = slow_held_device();
  const House house(loopback(), device);
  auto runs = house.submit({1, 2});  // a device with nothing to do would try
  house.wait_for_live(1);
  const Reply reply = house.ask(due_in(kHundred, milliseconds(50)));  // a hundred steps
  EXPECT_EQ(code_of(reply), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(reply.header.error.message, HasSubstr("even alone"));
  EXPECT_EQ(metric(house, "volvox_refused_total{bound=\"deadline\"}"), 1.0);
  EXPECT_EQ(metric(house, "volvox_live_requests{device=\"fake\"}"), 1.0);
  const LetRun run(device);
  EXPECT_TRUE(runs.get().status());
}

TEST(Bounds, WhatCannotMakeItsDeadlineBehindTheOthersIsToldWhenItCould) {
  const auto device = slow_held_device();
  const House house(loopback(), device);
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 600; ++i) answers.push_back(house.submit(kHundred));
  house.wait_for_live(600);
  const Reply reply = house.ask(due_in(kHundred, milliseconds(200)));
  EXPECT_EQ(code_of(reply), ErrorCode::kOverloaded);
  EXPECT_GT(reply.header.retry_after_us, 100'000U);
  EXPECT_LT(reply.header.retry_after_us, 10'000'000U);
  ClientRequest urgent = due_in(kHundred, std::chrono::seconds(60));
  urgent.header.priority = WirePriority::kHigh;
  auto in_time = house.client->submit(urgent);
  house.wait_for_live(601);
  const LetRun run(device);
  for (auto& answer : answers) EXPECT_EQ(state_in(answer.get()), check_answer(kHundred));
  EXPECT_EQ(state_in(in_time.get()), check_answer(kHundred));
}

// A client that says that a request is short gains nothing.
TEST(Bounds, ARequestIsJudgedByTheStepsThatItHas) {
  const auto device = slow_held_device();
  const House house(loopback(), device);
  auto runs = house.submit({1, 2});
  house.wait_for_live(1);
  ClientRequest request = due_in(kHundred, milliseconds(50));
  request.header.cells_hint = 1;
  const Reply reply = house.ask(request);
  EXPECT_EQ(code_of(reply), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(reply.header.error.message, HasSubstr("even alone"));
  EXPECT_EQ(metric(house, "volvox_live_requests{device=\"fake\"}"), 1.0);
  const LetRun run(device);
  EXPECT_TRUE(runs.get().status());
}

TEST(Bounds, ADeadlineThatPassesOnTheDeviceEndsTheRequestThere) {
  const auto device = held_device();
  const House house(loopback(), device);
  auto answer = house.client->submit(due_in(kHundred, milliseconds(100)));
  house.wait_for_live(1);
  EXPECT_EQ(code_of(answer.get()), ErrorCode::kDeadlineExceeded);
  const LetRun run(device);
  house.wait_for_live(0);
  EXPECT_LT(device->ran().size(), kHundred.size()) << "its later cells were run for nobody";
}

TEST(Stalls, ATaskThatHangsIsToldAndEndsWell) {
  ServeConfig config = loopback();
  config.device.task_timeout_ms = 100;
  const auto device = held_device();
  const House house(config, device);
  const Reply reply = house.ask(kHundred);
  EXPECT_EQ(code_of(reply), ErrorCode::kInternal);
  EXPECT_THAT(reply.header.error.message, HasSubstr("device.task_timeout_ms"));
  EXPECT_EQ(house.monitor.readiness_page().status, 503);
  EXPECT_THAT(house.monitor.readiness_page().body, HasSubstr("1 of 1 queues"));
  EXPECT_EQ(metric(house, "volvox_stuck_tasks_total"), 1.0);
  EXPECT_EQ(metric(house, "volvox_stuck_queues{device=\"fake\"}"), 1.0);
  EXPECT_EQ(code_of(house.ask(kHundred)), ErrorCode::kUnavailable);
  const LetRun run(device);  // it was only slow
  wait_for_metric(house, "volvox_stuck_queues{device=\"fake\"}", 0);
  EXPECT_EQ(house.monitor.readiness_page().status, 200);
  EXPECT_EQ(state_in(house.ask(kHundred)), check_answer(kHundred));
  house.wait_for_live(0);
  EXPECT_THAT(device->errors(), testing::IsEmpty());
}

TEST(Stalls, OtherQueuesGoOn) {
  ServeConfig config = loopback();
  config.device.queues = 2;
  config.device.task_timeout_ms = 100;
  const auto device = std::make_shared<FakeDevice>();
  const House house(config, device);
  ASSERT_TRUE(house.ask(kHundred).status());
  device->withhold(0, true);
  while (house.monitor.readiness_page().status == 200) {
    const Reply reply = house.ask(kHundred);
    EXPECT_TRUE(reply.status() || code_of(reply) == ErrorCode::kInternal) << reply.header.error.message;
  }
  EXPECT_THAT(house.monitor.readiness_page().body, HasSubstr("1 of 2 queues"));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(state_in(house.ask(kHundred)), check_answer(kHundred));
  device->withhold(0, false);
  wait_for_metric(house, "volvox_stuck_queues{device=\"fake\"}", 0);
  EXPECT_EQ(house.monitor.readiness_page().status, 200);
  EXPECT_THAT(device->errors(), testing::IsEmpty());
}

TEST(Stalls, AQueueWithoutMemoryFailsTheTaskAndNoMore) {
  const auto device = std::make_shared<FakeDevice>();
  const House house(loopback(), device);
  ASSERT_TRUE(house.ask({1, 2}).status());  // two tasks
  device->refuse_task(0, 4);
  const Reply reply = house.ask({1, 2, 3, 4});
  EXPECT_EQ(code_of(reply), ErrorCode::kOverloaded);
  EXPECT_THAT(reply.header.error.message, HasSubstr("there is no memory"));
  EXPECT_GT(reply.header.retry_after_us, 0U);
  EXPECT_EQ(state_in(house.ask(kHundred)), check_answer(kHundred));
  EXPECT_EQ(metric(house, "volvox_actor_restarts_total"), 0.0);
  EXPECT_THAT(device->errors(), testing::IsEmpty());
}

TEST(Bounds, PingsAndCancelsOfOneClientAreBounded) {
  ServeConfig config = loopback();
  config.limits.max_signals_per_client = 10;
  config.limits.max_requests_per_client = 20;
  const House house(config);
  ChannelOptions options;
  options.endpoint = house.server->endpoint();
  const auto channel = Channel::connect(options);
  ASSERT_TRUE(channel);
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  for (std::uint64_t id = 1; metric(house, "volvox_ignored_signals_total") < 1; ++id) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    EXPECT_TRUE((*channel)->cancel(id));
  }
  EXPECT_TRUE(house.ask({1, 2, 3}).status()) << "others go on";
}

}  // namespace
}  // namespace volvox
