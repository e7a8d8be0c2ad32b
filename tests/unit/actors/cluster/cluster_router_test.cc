#include "actors/cluster/cluster_router.h"

#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <variant>

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "actors/cluster/cluster_frames.h"
#include "actors/cluster/cluster_peer.h"
#include "actors/cluster/cluster_transport.h"
#include "actors/edge/gateway.h"
#include "protocol/codec/codec.h"
#include "tests/unit/actors/stage.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;

const std::string kDropped = "volvox_cluster_newcomers_dropped_total";

ClusterConfig impatient() {
  ClusterConfig config;
  config.cluster.verdict_ms = 50;
  return config;
}

// A node as a router sees it: it says what the test says, and remembers what it is told.
class FakeNode {
 public:
  FakeNode(Stage& stage, caf::actor router, const ClusterConfig& config, std::uint64_t incarnation,
           std::string name = "n1")
      : stage_(stage),
        router_(std::move(router)),
        incarnation_(incarnation),
        name_(std::move(name)),
        link_(LinkEnd::kDials, cluster_flow_limits(config, config.cluster)) {
    self_ = stage_.system.spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const ClusterPacket& packet) {
        auto message = link_.take(packet.bytes.whole());
        ASSERT_TRUE(message);
        if (*message) told.push_back(std::move(**message));
        flush();
      }};
    });
  }
  ~FakeNode() { die(); }

  void say(const ClusterMessage& message) {
    ASSERT_TRUE(link_.push(message));
    flush();
    stage_.run();
  }
  // Another life of the link, in which it has said nothing yet.
  void begin() { link_.begin(link_.generation() + 1); }
  void join(std::uint32_t version = 1) {
    begin();
    say(words(version));
    say(idle());
  }
  // Its join.
  ClusterJoin words(std::uint32_t version = 1) const {
    ClusterJoin join;
    join.cluster = "volvox";
    join.name = name_;
    join.incarnation = incarnation_;
    join.offers.push_back({"check", version, 76 + version, 1000, 10});
    return join;
  }
  // What it reports that has nothing to do.
  static ClusterReport idle() {
    ClusterReport report;
    report.request_limit = report.request_window = 100;
    report.byte_limit = report.byte_window = 1 << 20;
    return report;
  }
  void answer(const ClusterAttempt& attempt, std::optional<Error> error = std::nullopt) {
    Outcome outcome;
    outcome.error = std::move(error);
    outcome.session.emplace();
    say(result_frames(attempt, outcome, true, 0, WireLimits{}));
  }
  // A row of a streamed answer.
  void say_row(const ClusterAttempt& attempt, std::uint32_t index, std::uint32_t version) {
    Outcome row;
    row.model_version = version;
    say(result_frames(attempt, row, false, index, WireLimits{}));
  }
  void die() {
    caf::anon_send_exit(self_, caf::exit_reason::kill);
    stage_.run();
  }
  template <class Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const ClusterMessage& message : told)
      if (const auto* one = std::get_if<Kind>(&message)) found.push_back(*one);
    return found;
  }

  std::vector<ClusterMessage> told;

 private:
  void flush() {
    while (auto bytes = link_.next()) caf::send_as(self_, router_, ClusterPacket{std::move(*bytes)});
  }

  Stage& stage_;
  caf::actor router_, self_;
  const std::uint64_t incarnation_;
  const std::string name_;
  ClusterLink link_;
};

// The router between one node and one client, of both of which the test decides what they say.
class ClusterRouterActor : public testing::Test {
 protected:
  ~ClusterRouterActor() override {
    caf::anon_send_exit(router_, caf::exit_reason::kill);
    caf::anon_send_exit(client_, caf::exit_reason::kill);
    stage_.run();
  }

  void start() {
    router_ = spawn_cluster_router(stage_.system, {config_, 1, 1, &metrics_, {}, *transport_});
    client_ = stage_.system.spawn([this](caf::event_based_actor*) -> caf::behavior {
      return {[this](const FinishRequest& finish) { outcome_ = finish.outcome; },
              [this](const PartialResult& part) { rows_.push_back(part.index); }};
    });
    stage_.run();
  }
  static RequestPtr request(bool part, const std::string& home = "n1") {
    auto request = new_request(7);
    if (!part) return request;
    WireSessionToken& token = request->header.session.emplace();
    token.operation = SessionOperation::kContinue;
    token.sequence = 1;
    token.home = home;
    return request;
  }
  void run(RequestPtr asked) {
    caf::anon_send(router_, RunWork{std::make_shared<Work>(std::move(asked), client_)});
    stage_.run();
  }
  void cancel(ErrorCode why) {
    caf::anon_send(router_, CancelWork{7, why});
    stage_.run();
  }
  void let_pass(milliseconds time) {
    std::this_thread::sleep_for(time);  // the router looks at the clock
    stage_.coordinator().advance_time(time);
    stage_.run();
  }
  double counted(const std::string& name) const {
    for (const auto& family : registry_.Collect())
      if (family.name == name) return family.metric.at(0).counter.value;
    return -1;
  }
  void expect_error(ErrorCode code, bool undecided) {
    ASSERT_TRUE(outcome_ && outcome_->error);
    EXPECT_EQ(outcome_->error->code, code) << outcome_->error->message;
    EXPECT_EQ(outcome_->undecided, undecided);
  }

  ClusterConfig config_ = impatient();
  Stage stage_;
  prometheus::Registry registry_;
  ClusterMetrics metrics_{registry_};
  Result<std::shared_ptr<const ClusterTransport>> transport_ = ClusterTransport::open({}, metrics_);
  caf::actor router_, client_;
  std::optional<Outcome> outcome_;
  std::vector<std::uint32_t> rows_;  // of a streamed answer
};

TEST_F(ClusterRouterActor, APartThatIsTooLateIsDecidedAtItsHome) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  run(request(true));
  ASSERT_EQ(node.all<ClusterSubmit>().size(), 1U);
  cancel(ErrorCode::kDeadlineExceeded);
  EXPECT_FALSE(outcome_) << "its home may have done it";
  ASSERT_EQ(node.all<ClusterCancel>().size(), 1U);
  EXPECT_EQ(node.all<ClusterCancel>()[0].why, ErrorCode::kDeadlineExceeded);
  node.answer(node.all<ClusterSubmit>()[0].attempt);
  ASSERT_TRUE(outcome_) << "its home has done it";
  EXPECT_FALSE(outcome_->error);
}

TEST_F(ClusterRouterActor, ItsHomesErrorIsTheClients) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  run(request(true));
  cancel(ErrorCode::kDeadlineExceeded);
  node.answer(node.all<ClusterSubmit>()[0].attempt, Error{ErrorCode::kCancelled, "of an older version"});
  expect_error(ErrorCode::kDeadlineExceeded, false);
}

TEST_F(ClusterRouterActor, ASilentHomeLeavesAPartUndecided) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  run(request(true));
  cancel(ErrorCode::kCancelled);
  EXPECT_FALSE(outcome_);
  let_pass(milliseconds(60));
  expect_error(ErrorCode::kUnavailable, true);
  node.answer(node.all<ClusterSubmit>()[0].attempt);
  expect_error(ErrorCode::kUnavailable, true);  // one answer
}

TEST_F(ClusterRouterActor, AHomeThatJoinsAnewLeavesAPartUndecided) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  run(request(true));
  ClusterJoin again;
  again.cluster = "volvox";
  again.name = "n1";
  again.incarnation = 5;
  node.say(again);
  expect_error(ErrorCode::kUnavailable, true);
}

TEST_F(ClusterRouterActor, ARouterThatFailsLeavesAPartUndecided) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  run(request(true));
  caf::anon_send_exit(router_, caf::exit_reason::kill);
  stage_.run();
  expect_error(ErrorCode::kInternal, true);
}

TEST_F(ClusterRouterActor, WhatWasNeverSentIsDecided) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  run(request(true));
  expect_error(ErrorCode::kUnavailable, false);
}

// Attempts have small numbers, which anybody can name.
TEST_F(ClusterRouterActor, OnlyTheNodeThatWasAskedAnswers) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  FakeNode other(stage_, router_, config_, 6, "n2"), stranger(stage_, router_, config_, 7, "n3");
  node.join();
  other.join();
  stranger.begin();
  run(request(true));
  ASSERT_EQ(node.all<ClusterSubmit>().size(), 1U);
  const ClusterAttempt attempt = node.all<ClusterSubmit>()[0].attempt;
  other.answer(attempt);
  EXPECT_FALSE(outcome_) << "another member's word for it";
  stranger.answer(attempt);
  EXPECT_FALSE(outcome_) << "one that has not even joined";
  node.answer(attempt);
  ASSERT_TRUE(outcome_);
  EXPECT_FALSE(outcome_->error);
}

// A link that begins anew is nobody's until a join says whose it is.
TEST_F(ClusterRouterActor, ANodeAnswersNothingBeforeItHasJoinedAnew) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  run(request(true));
  ASSERT_EQ(node.all<ClusterSubmit>().size(), 1U);
  node.begin();
  node.answer(node.all<ClusterSubmit>()[0].attempt);
  EXPECT_FALSE(outcome_);
}

TEST_F(ClusterRouterActor, OtherRequestsEndAtOnce) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  run(request(false));
  ASSERT_EQ(node.all<ClusterSubmit>().size(), 1U);
  cancel(ErrorCode::kDeadlineExceeded);
  expect_error(ErrorCode::kDeadlineExceeded, false);
  EXPECT_EQ(node.all<ClusterCancel>().size(), 1U);
}

// Rows of two versions would make no answer.
TEST_F(ClusterRouterActor, AStreamGoesOnWithTheVersionThatBeganIt) {
  start();
  FakeNode older(stage_, router_, config_, 5), a(stage_, router_, config_, 6, "n2"),
      b(stage_, router_, config_, 7, "n3");
  older.join(1);
  a.join(2);
  b.join(2);
  // A row of this version comes, and then its node joins anew: what it had is tried elsewhere. By which one.
  const auto begin = [&](std::uint32_t version) -> FakeNode& {
    const std::size_t before = a.all<ClusterSubmit>().size();
    outcome_.reset();
    run(request(false));
    FakeNode& first = a.all<ClusterSubmit>().size() > before ? a : b;
    const ClusterSubmit submit = first.all<ClusterSubmit>().back();
    EXPECT_EQ(submit.version, 2U) << "the newest that there is";
    EXPECT_EQ(decode_request_header(submit.header->bytes(), WireLimits{})->model_version, 0U);
    first.say_row(submit.attempt, 0, version);
    first.join(2);
    return &first == &a ? b : a;
  };
  FakeNode& second = begin(2);
  EXPECT_EQ(rows_.size(), 1U);
  EXPECT_TRUE(older.all<ClusterSubmit>().empty());
  const ClusterSubmit again = second.all<ClusterSubmit>().back();
  EXPECT_EQ(decode_request_header(again.header->bytes(), WireLimits{})->model_version, 2U);
  second.answer(again.attempt);
  ASSERT_TRUE(outcome_ && !outcome_->error);
  begin(1);  // it took another one
  ASSERT_EQ(older.all<ClusterSubmit>().size(), 1U);
  older.answer(older.all<ClusterSubmit>()[0].attempt);
  ASSERT_TRUE(outcome_ && !outcome_->error);
  begin(3);
  expect_error(ErrorCode::kUnavailable, false);
  EXPECT_EQ(rows_.size(), 3U);
}

// A router that comes back has clients before it has reports.
TEST_F(ClusterRouterActor, WhatAJoinGrantsIsSentBeforeAnyReport) {
  start();
  FakeNode silent(stage_, router_, config_, 5), node(stage_, router_, config_, 6, "n2");
  silent.begin();
  silent.say(silent.words());
  run(request(false));
  expect_error(ErrorCode::kUnavailable, false);
  node.begin();
  ClusterJoin join = node.words();
  join.request_limit = join.request_window = 1;
  join.byte_limit = join.byte_window = 1 << 20;
  node.say(join);
  run(request(false));
  EXPECT_EQ(node.all<ClusterSubmit>().size(), 1U);
  EXPECT_TRUE(silent.all<ClusterSubmit>().empty());
}

// The node counts what comes, which is more than the rows of the part in its bundle. Both ends count for
// ever, so that the least difference would use up the credit.
TEST_F(ClusterRouterActor, APartOfABundleCostsWhatTheNodeGets) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  const std::vector<std::int32_t> rows{1, 2, 3, 4};
  const std::vector<std::uint32_t> lengths{3, 1};
  RequestBundle bundle;
  bundle.lengths = lengths;
  bundle.inputs = {wire_tensor("tokens", std::span(rows))};
  bundle.storage = std::make_shared<const WireBuffer>(WireBuffer::copy_of(std::as_bytes(std::span(rows))));
  auto asked = new_request(7);
  asked->body =
      IncomingBody(std::make_shared<const BundleBody>(std::move(bundle), InFlightShare(), ClientShare()), 0);
  run(asked);
  ASSERT_EQ(node.all<ClusterSubmit>().size(), 1U);
  const std::size_t bytes = node.all<ClusterSubmit>()[0].body->bytes().size();
  EXPECT_GT(bytes, 3 * sizeof(std::int32_t));
  let_pass(milliseconds(100));
  ASSERT_FALSE(node.all<ClusterPing>().empty());
  EXPECT_EQ(node.all<ClusterPing>().back().wanted_bytes, bytes);
}

TEST_F(ClusterRouterActor, ANodesRefusalIsToldWithItsAdvice) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  run(request(false));
  Outcome full;
  full.error = Error{ErrorCode::kOverloaded, "there is too much to do"};
  full.retry_after_us = 777;
  node.say(result_frames(node.all<ClusterSubmit>()[0].attempt, full, true, 0, WireLimits{}));
  expect_error(ErrorCode::kOverloaded, false);
  EXPECT_EQ(outcome_->error->message, "there is too much to do");
  EXPECT_EQ(outcome_->retry_after_us, 777U);
  EXPECT_EQ(node.all<ClusterSubmit>().size(), 1U) << "there is no other, and it has said so";
}

// By what the node says of its rows.
TEST_F(ClusterRouterActor, WhatNoNodeCouldBeginInTimeIsRefused) {
  start();
  FakeNode node(stage_, router_, config_, 5);
  node.join();
  ClusterReport busy = FakeNode::idle();
  busy.waits_ns = {3'600'000'000'000};
  node.say(busy);
  run(new_request(7, 60'000'000));
  expect_error(ErrorCode::kDeadlineExceeded, false);
  EXPECT_TRUE(node.all<ClusterSubmit>().empty());
  run(request(false));
  EXPECT_EQ(node.all<ClusterSubmit>().size(), 1U) << "one that has time";
}

// Whoever can dial is a stranger, as long as links are in the clear.
TEST_F(ClusterRouterActor, StrangersGiveWayToWhoeverComes) {
  config_.cluster.max_newcomers = 2;
  start();
  FakeNode one(stage_, router_, config_, 5), two(stage_, router_, config_, 6, "n2"),
      three(stage_, router_, config_, 7, "n3");
  for (FakeNode* stranger : {&one, &two, &three}) {
    EXPECT_EQ(counted(kDropped), 0) << "there was room";
    stranger->begin();
    stranger->say(FakeNode::idle());
  }
  EXPECT_EQ(counted(kDropped), 1);
  FakeNode node(stage_, router_, config_, 8, "n4");
  node.join();
  run(request(false));
  EXPECT_EQ(node.all<ClusterSubmit>().size(), 1U);
  EXPECT_EQ(counted(kDropped), 2) << "another gave way, while it came";
}

TEST_F(ClusterRouterActor, WhoDoesNotJoinInTimeIsForgotten) {
  config_.cluster.join_ms = 50;
  start();
  FakeNode stranger(stage_, router_, config_, 5), node(stage_, router_, config_, 6, "n2");
  stranger.begin();
  stranger.say(FakeNode::idle());
  node.join();
  EXPECT_EQ(counted(kDropped), 0);
  let_pass(milliseconds(60));
  EXPECT_EQ(counted(kDropped), 1) << "the stranger, and no member";
  node.say(ClusterLeave{"it stops"});
  let_pass(milliseconds(60));
  EXPECT_EQ(counted(kDropped), 2) << "who has left can join again, but not for ever";
}

}  // namespace
}  // namespace volvox
