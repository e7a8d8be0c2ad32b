#include "routing/router.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "routing/refusals.h"

namespace volvox {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RouterTest : public testing::Test {
 protected:
  NodeId join(std::string_view name, std::uint64_t digest = 5) {
    const std::vector<ModelOffer> offers{{"mt", 1, digest, microseconds(100), 10}};
    const NodeId node = router_.join(name, ++incarnation_, offers, now_, events_).value();
    LoadReport report;
    report.requests = {1000, 1000};
    report.bytes = {1 << 20, 1 << 20};
    report.full_rows = 32;
    reports_[node.index] = report;
    router_.report(node, report, now_, events_);
    return node;
  }
  LoadReport& saying(NodeId node) { return reports_[node.index]; }
  void say(NodeId node) { ASSERT_TRUE(router_.report(node, saying(node), now_, events_)); }
  Result<Placement> place(RequestInfo info = {"mt"}) { return router_.place(++request_, info, now_); }
  ErrorCode refusal(RequestInfo info = {"mt"}) { return place(info).error().code; }
  // Time passes; these nodes answer pings, others are silent.
  void wait(Duration span, std::initializer_list<NodeId> answering) {
    for (const TimePoint until = now_ + span; now_ < until;) {
      now_ += milliseconds(50);
      for (const NodeId node : answering) {
        saying(node).echo = router_.ping(now_);
        say(node);
      }
      router_.advance(now_, events_);
    }
  }
  std::vector<AttemptId> to_retry() {
    std::vector<AttemptId> attempts;
    for (const RouterEvent& event : events_)
      if (event.kind == RouterEvent::Kind::kRetry) attempts.push_back(event.attempt);
    return attempts;
  }

  Router router_{RouterLimits{}, 1};
  RouterEvents events_;
  std::map<std::uint32_t, LoadReport> reports_;
  TimePoint now_{seconds(1)};
  Incarnation incarnation_ = 0;
  std::uint64_t request_ = 0;
};

TEST_F(RouterTest, RefusesWhatNobodyCanRun) {
  EXPECT_EQ(refusal(), ErrorCode::kUnavailable) << "they may be on their way";
  const NodeId node = join("a");
  EXPECT_EQ(place()->node, node);
  EXPECT_EQ(refusal({"asr"}), ErrorCode::kUnavailable) << "the node that has it may be on its way";
  wait(RouterLimits{}.settle_after, {node});
  EXPECT_EQ(refusal({"asr"}), ErrorCode::kModelNotFound);
  router_.drain(node, events_);
  EXPECT_EQ(refusal(), ErrorCode::kUnavailable);
}

TEST_F(RouterTest, SaysWhichVersionItHasChosen) {
  const NodeId node = join("a");
  EXPECT_EQ(place()->version, 1U);
  const std::vector<ModelOffer> offers{{"mt", 1, 5, microseconds(100), 10},
                                       {"mt", 4, 6, microseconds(100), 10}};
  ASSERT_TRUE(router_.offer(node, offers, events_));
  EXPECT_EQ(place()->version, 4U);
  EXPECT_EQ(place({"mt", 1})->version, 1U);
  RequestInfo part{"mt"};
  part.home = "a";
  EXPECT_EQ(place(part)->version, 0U) << "its home knows";
}

TEST_F(RouterTest, ANodeThatHasGrantedNothingYetIsNotFull) {
  const std::vector<ModelOffer> offers{{"mt", 1, 5, microseconds(100), 10}};
  ASSERT_TRUE(router_.join("a", 1, offers, now_, events_));
  EXPECT_EQ(refusal(), ErrorCode::kUnavailable);
  RequestInfo part{"mt"};
  part.home = "a";
  EXPECT_EQ(refusal(part), ErrorCode::kUnavailable);
}

TEST_F(RouterTest, WhatAJoinGrantsIsSpentBeforeTheFirstReport) {
  const std::vector<ModelOffer> offers{{"mt", 1, 5, microseconds(100), 10}};
  const NodeId node = router_.join("a", 1, offers, now_, events_).value();
  router_.grant(node, {2, 2}, {1 << 20, 1 << 20});
  EXPECT_EQ(place()->node, node);
  EXPECT_EQ(place()->node, node);
  EXPECT_EQ(refusal(), ErrorCode::kOverloaded);
  LoadReport report;  // cumulative: it grants one more
  report.requests = {3, 3};
  report.bytes = {1 << 20, 1 << 20};
  router_.report(node, report, now_, events_);
  EXPECT_EQ(place()->node, node);
  EXPECT_EQ(refusal(), ErrorCode::kOverloaded);
}

TEST_F(RouterTest, TheLessLoadedOfTwoIsTaken) {
  const NodeId busy = join("a"), idle = join("b");
  saying(busy).work = milliseconds(50);
  for (int i = 0; i < 40; ++i) say(busy);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(place()->node, idle);
  saying(idle).work = milliseconds(200);
  say(idle);
  EXPECT_EQ(place()->node, busy);
}

TEST_F(RouterTest, WhatWasSentCountsBeforeItIsReported) {
  const NodeId one = join("a"), other = join("b");
  std::map<std::uint32_t, int> sent;
  for (int i = 0; i < 100; ++i) ++sent[place()->node.index];
  EXPECT_EQ(sent[one.index], 50);
  EXPECT_EQ(sent[other.index], 50);
}

TEST_F(RouterTest, ASlowerNodeGetsLess) {
  const NodeId slow = join("a"), fast = join("b");
  saying(slow).cell_costs = {microseconds(300)};
  say(slow);
  std::map<std::uint32_t, int> sent;
  for (int i = 0; i < 400; ++i) ++sent[place()->node.index];
  EXPECT_NEAR(sent[fast.index], 300, 3);
}

TEST_F(RouterTest, ASuspectNodeGetsNothingNewAndADeadOnesRequestsAreTriedElsewhere) {
  const NodeId a = join("a"), b = join("b");
  std::vector<Placement> on_a;
  for (int i = 0; i < 20; ++i) {
    const auto placed = place().value();
    if (placed.node == a) on_a.push_back(placed);
  }
  ASSERT_FALSE(on_a.empty());
  wait(milliseconds(500), {b});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(place()->node, b);
  EXPECT_TRUE(to_retry().empty()) << "a suspect node keeps what it has";
  wait(milliseconds(600), {b});
  const auto attempts = to_retry();
  ASSERT_EQ(attempts.size(), on_a.size());
  const auto second = router_.retry(attempts[0], {"mt"}, now_).value();
  EXPECT_EQ(second.node, b);
  EXPECT_FALSE(router_.end(on_a[0].attempt)) << "it answers after all: too late";
  EXPECT_TRUE(router_.request(second.attempt));
  EXPECT_TRUE(router_.end(second.attempt));
  EXPECT_FALSE(router_.end(second.attempt)) << "nor does the same answer count twice";
}

// All are silent at once when it is this process that hears late.
TEST_F(RouterTest, SilentNodesGetWhatNobodyElseTakesWhileTheirConnectionsStand) {
  const NodeId a = join("a"), b = join("b");
  wait(milliseconds(500), {});
  std::set<std::uint32_t> asked;
  for (int i = 0; i < 20; ++i) asked.insert(place()->node.index);
  EXPECT_EQ(asked, (std::set<std::uint32_t>{a.index, b.index}));
  router_.disconnected(a, now_, events_);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(place()->node, b);
  router_.disconnected(b, now_, events_);
  EXPECT_EQ(refusal(), ErrorCode::kUnavailable);
  router_.heard(b, now_, events_);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(place()->node, b);
  wait(milliseconds(500), {b});
  router_.drain(b, events_);
  EXPECT_EQ(refusal(), ErrorCode::kUnavailable) << "who drains is no last resort";
}

TEST_F(RouterTest, ASilentNodeIsToldByAReportThatItsConnectionStands) {
  const NodeId a = join("a");
  now_ += milliseconds(50);
  const Ping before = router_.ping(now_);
  wait(milliseconds(500), {});
  router_.disconnected(a, now_, events_);
  EXPECT_EQ(refusal(), ErrorCode::kUnavailable);
  saying(a).echo = before;  // of long ago: it still counts as silent
  say(a);
  EXPECT_EQ(place()->node, a);
  wait(milliseconds(600), {});
  EXPECT_EQ(refusal(), ErrorCode::kUnavailable) << "dead";
}

TEST_F(RouterTest, RetriesAreBounded) {
  const NodeId a = join("a"), b = join("b");
  auto attempt = place()->attempt;
  for (int i = 0; i < 2; ++i) {
    const NodeId was_on = *router_.node(attempt);
    const auto next = router_.retry(attempt, {"mt"}, now_);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->node, was_on == a ? b : a) << "the node refused it: elsewhere";
    attempt = next->attempt;
  }
  EXPECT_EQ(router_.retry(attempt, {"mt"}, now_).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(router_.in_flight(), 0U);
}

TEST_F(RouterTest, WhoWasFullIsNotAskedAgain) {
  join("a");
  auto attempt = place()->attempt;
  const auto alone = router_.retry(attempt, {"mt"}, now_, Router::Why::kFull);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::kOverloaded);
  join("b");
  attempt = place()->attempt;
  for (int i = 0; i < 2; ++i) attempt = router_.retry(attempt, {"mt"}, now_, Router::Why::kFull)->attempt;
  const auto often = router_.retry(attempt, {"mt"}, now_, Router::Why::kFull);
  ASSERT_FALSE(often);
  EXPECT_EQ(often.error().code, ErrorCode::kOverloaded) << "none of them went away";
  EXPECT_EQ(router_.in_flight(), 0U);
}

TEST_F(RouterTest, NothingIsTriedAgainAfterItsDeadline) {
  const NodeId a = join("a");
  RequestInfo info{"mt"};
  info.deadline = now_ + milliseconds(800);
  ASSERT_TRUE(place(info));
  const NodeId b = join("b");
  wait(milliseconds(1000), {b});
  ASSERT_EQ(router_.members().find(a), nullptr);
  ASSERT_EQ(to_retry().size(), 1U);
  EXPECT_EQ(router_.retry(to_retry()[0], info, now_).error().code, ErrorCode::kDeadlineExceeded);
}

TEST_F(RouterTest, WhatCannotBeginInTimeIsRefusedAtOnce) {
  const NodeId node = join("a");
  saying(node).wait = milliseconds(20);
  say(node);
  RequestInfo info{"mt"};
  info.deadline = now_ + milliseconds(10);
  EXPECT_EQ(refusal(info), ErrorCode::kDeadlineExceeded);
  info.deadline = now_ + milliseconds(30);
  EXPECT_TRUE(place(info));
  EXPECT_TRUE(place()) << "without a deadline there is time";
}

TEST_F(RouterTest, GoesWhereItCanBeginInTime) {
  const NodeId full = join("a"), free = join("b");
  saying(full).waits = {milliseconds(20)};
  say(full);
  RequestInfo info{"mt"};
  info.deadline = now_ + milliseconds(10);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(place(info)->node, free);
  saying(free).waits = {milliseconds(30)};
  say(free);
  EXPECT_EQ(refusal(info), ErrorCode::kDeadlineExceeded);
  info.urgent = true;
  EXPECT_TRUE(place(info)) << "it passes those that wait";
  info.urgent = false;
  saying(full).waits.clear();
  say(full);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(place(info)->node, full) << "it has room again";
}

TEST_F(RouterTest, AChangeOfOffersDisturbsNothingUnderWay) {
  const NodeId node = join("a");
  const Placement running = place().value();
  events_.clear();
  const std::vector<ModelOffer> more{{"asr", 1, 9, microseconds(100), 10},
                                     {"mt", 2, 6, microseconds(100), 10}};
  EXPECT_TRUE(router_.offer(node, more, events_));
  EXPECT_TRUE(to_retry().empty());
  EXPECT_EQ(router_.request(running.attempt), request_);
  EXPECT_EQ(router_.in_flight(node), 1U);
  EXPECT_EQ(place({"asr"})->node, node) << "its credit is as it was";
  EXPECT_EQ(place({"mt"})->node, node) << "of the other version";
  EXPECT_EQ(refusal({"mt", 1}), ErrorCode::kUnavailable) << "it may be on its way";
  EXPECT_TRUE(router_.end(running.attempt));
  router_.leave(node, events_);
  EXPECT_FALSE(router_.offer(node, more, events_));
}

TEST_F(RouterTest, CountsTheNodesThatTakeRequests) {
  EXPECT_EQ(router_.usable_nodes(), 0U);
  const NodeId a = join("a"), b = join("b");
  EXPECT_EQ(router_.usable_nodes(), 2U);
  router_.drain(a, events_);
  EXPECT_EQ(router_.usable_nodes(), 1U);
  wait(milliseconds(500), {});
  EXPECT_EQ(router_.usable_nodes(), 0U) << "silent";
  wait(milliseconds(100), {b});
  EXPECT_EQ(router_.usable_nodes(), 1U);
}

TEST(Refusals, AnotherNodeMayTakeWhatThisOneDoesNot) {
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kOverloaded, ErrorCode::kModelNotFound}) {
    EXPECT_TRUE(may_run_elsewhere(false, code));
    EXPECT_FALSE(may_run_elsewhere(true, code)) << "a part is its home's business";
  }
  for (const ErrorCode code :
       {ErrorCode::kInvalidArgument, ErrorCode::kDeadlineExceeded, ErrorCode::kInternal})
    EXPECT_FALSE(may_run_elsewhere(false, code));
  const Error gone{ErrorCode::kModelNotFound, "gone"}, busy{ErrorCode::kOverloaded, "full"},
      nobody{ErrorCode::kUnavailable, "nobody"};
  EXPECT_TRUE(stands(gone, nobody));
  EXPECT_FALSE(stands(gone, busy)) << "others have the model";
  EXPECT_FALSE(stands(busy, nobody));
  EXPECT_TRUE(stands(busy, busy)) << "it says for how long";
}

TEST_F(RouterTest, OtherWeightsGetNoTraffic) {
  const NodeId good = join("a", 5);
  join("b", 6);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(place()->node, good);
  const auto conflicts = std::count_if(events_.begin(), events_.end(), [](const RouterEvent& event) {
    return event.kind == RouterEvent::Kind::kConflict;
  });
  EXPECT_EQ(conflicts, 1);
}

TEST_F(RouterTest, NoMoreIsSentThanTheNodesGranted) {
  const NodeId a = join("a");
  for (int i = 0; i < 900; ++i) ASSERT_TRUE(place());
  EXPECT_EQ(refusal(), ErrorCode::kOverloaded);
  RequestInfo urgent{"mt"};
  urgent.urgent = true;
  EXPECT_TRUE(place(urgent));
  RequestInfo large{"mt"};
  large.bytes = 1 << 20;
  EXPECT_EQ(refusal(large), ErrorCode::kOverloaded);
  const NodeId b = join("b");
  EXPECT_EQ(place()->node, b);
  EXPECT_GT(router_.request_credit(a).wanted(), 901U) << "the node is told that more was wanted";
}

// The node does not say that it has ended, so its credit would be gone until the node joins anew.
TEST_F(RouterTest, WhatCouldNotBeSentCostsNoCredit) {
  const NodeId node = join("a");
  const std::uint64_t requests = router_.request_credit(node).available();
  const std::uint64_t bytes = router_.byte_credit(node).available();
  RequestInfo info{"mt"};
  info.bytes = 1000;
  for (int i = 0; i < 10'000; ++i) {
    const auto placed = place(info);
    ASSERT_TRUE(placed) << i;
    const Duration with_it = router_.estimate(node);
    router_.unsent(placed->attempt);
    EXPECT_LT(router_.estimate(node), with_it);
    EXPECT_TRUE(router_.end(placed->attempt));
  }
  EXPECT_EQ(router_.estimate(node), Duration::zero());
  EXPECT_EQ(router_.request_credit(node).available(), requests);
  EXPECT_EQ(router_.byte_credit(node).available(), bytes);
  EXPECT_EQ(router_.request_credit(node).wanted(), 10'000U) << "it never goes down";
}

TEST_F(RouterTest, WhatCouldNotBeSentMayGoToAnother) {
  const NodeId a = join("a"), b = join("b");
  const auto first = place();
  ASSERT_TRUE(first);
  router_.unsent(first->attempt);
  const auto second = router_.retry(first->attempt, {"mt"}, now_);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->node, first->node == a ? b : a);
  EXPECT_EQ(router_.request_credit(second->node).available() + 1,
            router_.request_credit(first->node).available());
}

TEST_F(RouterTest, ASessionGoesHome) {
  const NodeId home = join("a");
  join("b");
  RequestInfo part{"mt"};
  part.home = "a";
  for (int i = 0; i < 20; ++i) EXPECT_EQ(place(part)->node, home);
  router_.drain(home, events_);
  EXPECT_EQ(place(part)->node, home) << "it ends there what it began";
  router_.leave(home, events_);
  EXPECT_EQ(refusal(part), ErrorCode::kSessionExpired) << "it was told to stop";
}

TEST_F(RouterTest, AHomeThatIsGoneIsLostAndOneThatIsNotKnownYetMayCome) {
  const NodeId other = join("b");
  RequestInfo part{"mt"};
  part.home = "a";
  EXPECT_EQ(refusal(part), ErrorCode::kUnavailable) << "the router is young";
  const NodeId home = join("a");
  EXPECT_EQ(place(part)->node, home);
  wait(milliseconds(500), {other});
  EXPECT_EQ(refusal(part), ErrorCode::kUnavailable) << "it is silent";
  wait(seconds(1), {other});
  EXPECT_EQ(refusal(part), ErrorCode::kSessionLost) << "it is dead, however young the router is";
  part.home = "nobody";
  EXPECT_EQ(refusal(part), ErrorCode::kUnavailable);
  wait(seconds(5), {other});
  EXPECT_EQ(refusal(part), ErrorCode::kSessionLost) << "who was to come has come";
}

TEST_F(RouterTest, WhatHasAnAffinityGoesToTheSameNodeByAnyRouter) {
  Router second{RouterLimits{}, 2};
  std::map<std::string, NodeId> here, there;
  const std::vector<ModelOffer> offers{{"mt", 1, 5, microseconds(100), 10}};
  LoadReport rich;
  rich.requests = {100'000, 100'000};
  rich.bytes = {1 << 20, 1 << 20};
  for (const char* name : {"a", "b", "c"}) {
    here[name] = join(name);
    saying(here[name]) = rich;
    say(here[name]);
  }
  for (const char* name : {"c", "a", "b"}) {  // in whatever order they came
    there[name] = second.join(name, ++incarnation_, offers, now_, events_).value();
    second.report(there[name], rich, now_, events_);
  }
  std::map<std::string, int> count;
  RequestInfo begin{"mt"};
  for (begin.affinity = 1; begin.affinity <= 3000; ++begin.affinity) {
    const NodeId node = place(begin)->node;
    const std::string name = router_.members().find(node)->name;
    EXPECT_EQ(second.place(begin.affinity, begin, now_)->node, there[name]);
    ++count[name];
  }
  for (const auto& [name, times] : count) EXPECT_NEAR(times, 1000, 150) << name;
  // Only what was at a node that is gone goes elsewhere.
  router_.drain(here["b"], events_);
  for (begin.affinity = 1; begin.affinity <= 300; ++begin.affinity) {
    const NodeId before = second.place(begin.affinity, begin, now_)->node;
    const NodeId now = place(begin)->node;
    if (before != there["b"]) {
      EXPECT_EQ(router_.members().find(now)->name, second.members().find(before)->name);
    }
  }
}

TEST_F(RouterTest, PackFillsABatchBeforeItBeginsTheNext) {
  RouterLimits limits;
  limits.placement = PlacementKind::kPack;
  router_ = Router(limits, 1);
  const NodeId empty = join("a"), begun = join("b"), full = join("c");
  saying(begun).rows = 1;
  saying(full).rows = 32;
  say(begun);
  say(full);
  for (int i = 0; i < 31; ++i) EXPECT_EQ(place()->node, begun);
  EXPECT_EQ(place()->node, empty);
}

TEST_F(RouterTest, WhoJoinsAgainStartsAfresh) {
  join("a");
  const auto placed = place().value();
  router_.disconnected(placed.node, now_, events_);
  const NodeId fresh = join("a");
  EXPECT_EQ(to_retry(), std::vector{placed.attempt});
  EXPECT_EQ(router_.in_flight(fresh), 0U);
  EXPECT_EQ(router_.retry(placed.attempt, {"mt"}, now_)->node, fresh);
}

TEST(RouterLimits, ContradictionsAreNamed) {
  RouterLimits limits;
  EXPECT_TRUE(check(limits));
  limits.max_attempts = 0;
  EXPECT_FALSE(check(limits));
  limits = {};
  limits.reserved_share = 1;
  EXPECT_FALSE(check(limits));
}

}  // namespace
}  // namespace volvox
