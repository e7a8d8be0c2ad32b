#include "loadgen/run/connection.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "loadgen/run/wakefulness.h"
#include "tests/unit/loadgen/fake_link.h"

namespace volvox {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Remembers what is taken back.
struct CancellingLink : FakeLink {
  using FakeLink::FakeLink;
  void cancel(std::uint64_t id) override { cancelled.emplace_back(now(), id); }
  std::vector<std::pair<TimePoint, std::uint64_t>> cancelled;
};

class Connection : public testing::Test {
 protected:
  Connection() {
    plan_.arrivals = Arrivals::kConstant;
    plan_.rate = 100;
    plan_.measured = seconds(10);
    plan_.timeout = seconds(2);
  }

  LoadTally run(FakeLink& link, const std::stop_token& stop = {}) {
    start_ = link.now();
    mix_.emplace(1, std::vector<RequestClass>{{common_, source_}});
    connection_ = std::make_unique<LoadConnection>(plan_, *mix_, link, progress_, awake_);
    connection_->run(start_, stop);
    took_ = link.now() - start_;
    return connection_->tally();
  }

  ConnectionPlan plan_;
  RequestTemplate common_{.model = "lstm"};
  RequestSource source_{1, LengthSource::fixed(3), 100};
  std::optional<RequestMix> mix_;
  LoadProgress progress_;
  std::unique_ptr<LoadConnection> connection_;
  Duration awake_{};
  TimePoint start_;
  Duration took_{};
};

TEST_F(Connection, OpenLoopKeepsItsScheduleAndCountsAll) {
  FakeLink link(FakeLink::steady(milliseconds(30)));
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.offered, 1000U);
  EXPECT_EQ(tally.completed, 1000U);
  EXPECT_EQ(tally.failed(), 0U);
  EXPECT_EQ(tally.duplicates, 0U);
  for (std::size_t i = 0; i < link.sent.size(); ++i) {
    EXPECT_LE(link.sent[i].first - (start_ + milliseconds(10) * i), microseconds(1)) << i;
  }
  EXPECT_NEAR(static_cast<double>(tally.latency.percentile(0.5).count()), 30e6, 5e4);
  EXPECT_EQ(tally.queue.max(), microseconds(10));
  EXPECT_EQ(tally.compute.max(), microseconds(20));
  EXPECT_EQ(progress_.completed.load(), 1000U);
}

TEST_F(Connection, WarmupIsSentButNotMeasured) {
  plan_.warmup = seconds(4);
  FakeLink link(FakeLink::steady(milliseconds(1)));
  const LoadTally& tally = run(link);
  EXPECT_EQ(link.sent.size(), 1400U);
  EXPECT_EQ(tally.warmup_offered, 400U);
  EXPECT_EQ(tally.warmup_completed, 400U);
  EXPECT_EQ(tally.offered, 1000U);
  EXPECT_EQ(tally.latency.count(), 1000U);
}

// A server that stands still for a second makes every request that was due meanwhile slow, not only the one
// it held.
TEST_F(Connection, LatencyCountsFromTheScheduleWhenTheSenderIsHeldUp) {
  FakeLink link(FakeLink::steady(milliseconds(1)));
  link.stall_at = 500;
  link.stall = seconds(1);
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.completed, 1000U) << "nothing is left out because of the delay";
  EXPECT_GE(tally.late.max(), milliseconds(999));
  // About 100 requests were due in that second: late by 1 s, 0.99 s, …
  EXPECT_GE(tally.late.percentile(0.95), milliseconds(400));
  EXPECT_GE(tally.latency.percentile(0.95), milliseconds(400));
  EXPECT_LE(tally.late.percentile(0.85), milliseconds(2));
}

TEST_F(Connection, GapsVaryAsPlannedUnlessTheSenderIsHeldUp) {
  plan_.arrivals = Arrivals::kPoisson;
  FakeLink even(FakeLink::steady(milliseconds(1)));
  const LoadTally as_planned = run(even);
  EXPECT_EQ(as_planned.gaps.count() + 1, as_planned.offered);
  EXPECT_NEAR(as_planned.gaps.variance_ratio(), 1.0, 1e-3);
  FakeLink held_up(FakeLink::steady(milliseconds(1)));
  held_up.stall_at = 500;
  held_up.stall = seconds(1);
  EXPECT_GT(run(held_up).gaps.variance_ratio(), 2.0);
  plan_.arrivals = Arrivals::kClosed;
  plan_.concurrency = 2;
  FakeLink closed(FakeLink::steady(milliseconds(1)));
  EXPECT_EQ(run(closed).gaps.count(), 0U);
}

// Sleeps end later than the gaps are long: the sender is awake in time all the same, and no longer than that
// takes.
TEST_F(Connection, AFastScheduleIsAwaitedAwake) {
  awake_ = microseconds(30);
  plan_.arrivals = Arrivals::kPoisson;
  plan_.rate = 50'000;
  plan_.measured = milliseconds(100);
  plan_.timeout = seconds(5);
  FakeLink link(FakeLink::steady(seconds(1)));  // no reply wakes the sender
  link.oversleep = microseconds(25);
  const LoadTally tally = run(link);
  EXPECT_NEAR(static_cast<double>(tally.offered), 5000.0, 300.0);
  EXPECT_NEAR(tally.gaps.variance_ratio(), 1.0, 0.05);
  EXPECT_LE(tally.late.max(), microseconds(2));
  EXPECT_LE(link.looks, 31 * tally.offered) << "a microsecond each, and 30 of them before each request";
}

TEST_F(Connection, WhoeverIsAlwaysAwakeNeverSleeps) {
  awake_ = kAlwaysAwake;
  plan_.arrivals = Arrivals::kPoisson;
  plan_.rate = 50'000;
  plan_.measured = milliseconds(100);
  FakeLink link(FakeLink::steady(milliseconds(1)));
  link.oversleep = milliseconds(5);
  const LoadTally tally = run(link);
  EXPECT_EQ(tally.completed, tally.offered);
  EXPECT_NEAR(tally.gaps.variance_ratio(), 1.0, 0.05);
  EXPECT_LE(tally.late.max(), microseconds(2));
}

TEST_F(Connection, FastSendersAreAlwaysAwakeWhereThereAreProcessors) {
  plan_.rate = 50'000;
  ConnectionPlan slow = plan_, closed = plan_, curve = plan_;
  slow.rate = 9'000;
  closed.arrivals = Arrivals::kClosed;
  curve.arrivals = Arrivals::kCurve;
  const std::vector<ConnectionPlan> one = {plan_, slow, closed, curve}, two = {plan_, plan_};
  EXPECT_EQ(awake_before_sends(plan_, one, 2), kAlwaysAwake);
  EXPECT_EQ(awake_before_sends(plan_, one, 1), microseconds(30));
  EXPECT_EQ(awake_before_sends(plan_, two, 2), microseconds(30));
  EXPECT_EQ(awake_before_sends(plan_, two, 4), kAlwaysAwake);
  for (const ConnectionPlan& other : {slow, closed, curve})
    EXPECT_EQ(awake_before_sends(other, one, 64), Duration(0));
}

TEST_F(Connection, OthersSleepTheirWholeWait) {
  FakeLink slow(FakeLink::steady(milliseconds(1)));
  run(slow);
  EXPECT_EQ(slow.looks, 0U);
  plan_.arrivals = Arrivals::kClosed;
  plan_.concurrency = 2;
  plan_.rate = 50'000;
  FakeLink closed(FakeLink::steady(milliseconds(1)));
  run(closed);
  EXPECT_EQ(closed.looks, 0U);
}

// Whoever is late and sends all that is due at once leaves the replies to gather.
TEST_F(Connection, LooksAtRepliesWhileItCatchesUp) {
  FakeLink link(FakeLink::steady(milliseconds(1)));
  link.stall_at = 500;
  link.stall = seconds(1);
  run(link);
  EXPECT_GE(link.looks, 20U) << "100 requests were due meanwhile";
}

TEST_F(Connection, CountOfRequestsEndsTheLoad) {
  plan_.measured = Duration(0);
  plan_.requests = 77;
  plan_.warmup = seconds(1);
  FakeLink link(FakeLink::steady(milliseconds(1)));
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.offered, 77U);
  EXPECT_EQ(tally.warmup_offered, 100U);
}

TEST_F(Connection, ClosedLoopKeepsItsNumberInFlight) {
  plan_.arrivals = Arrivals::kClosed;
  plan_.concurrency = 8;
  std::uint64_t sent = 0, most = 0;
  FakeLink link([&](std::uint64_t id, auto) {
    most = std::max(most, ++sent - progress_.completed.load());
    return std::vector<FakeLink::Answer>{{milliseconds(10), FakeLink::result(id)}};
  });
  const LoadTally& tally = run(link);
  EXPECT_EQ(most, 8U);
  // 10 s, 10 ms each, 8 at once.
  EXPECT_NEAR(static_cast<double>(tally.completed), 8000.0, 8.0);
  EXPECT_LE(tally.late.max(), microseconds(1));
}

TEST_F(Connection, ErrorsCountByCode) {
  FakeLink link([](std::uint64_t id, auto) -> std::vector<FakeLink::Answer> {
    if (id % 4 == 0) return {{milliseconds(1), FakeLink::error(id, ErrorCode::kOverloaded)}};
    if (id % 4 == 1) return {{milliseconds(1), FakeLink::error(id, ErrorCode::kInternal)}};
    return {{milliseconds(1), FakeLink::result(id)}};
  });
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.completed, 500U);
  EXPECT_EQ(tally.errors.at("OVERLOADED"), 250U);
  EXPECT_EQ(tally.errors.at("INTERNAL"), 250U);
  EXPECT_EQ(tally.first_error.at("INTERNAL"), "because of the test");
  EXPECT_EQ(tally.latency.count(), 500U) << "errors have no latency";
}

TEST_F(Connection, TheTimelineSaysWhatBecameOfEachMeasuredRequest) {
  plan_.timeline = true;
  plan_.warmup = seconds(1);
  plan_.measured = milliseconds(30);
  FakeLink link([](std::uint64_t id, auto) -> std::vector<FakeLink::Answer> {
    if (id == 101) return {{milliseconds(7), FakeLink::result(id)}};
    if (id == 102) return {{milliseconds(1), FakeLink::error(id, ErrorCode::kOverloaded)}};
    return {};
  });
  run(link);
  std::ostringstream text;
  const TimePoint measured = start_ + plan_.warmup;
  Timeline timeline = connection_->take_timeline();
  ASSERT_EQ(timeline.size(), 3U);
  for (TimelineEntry& entry : timeline) entry.scheduled -= measured.time_since_epoch();
  write_timeline(timeline, text);
  EXPECT_EQ(text.str(),
            "scheduled_us,took_us,outcome\n0,7000,OK\n10000,1000,OVERLOADED\n20000,2000000,LOST\n");
}

TEST_F(Connection, SecondAnswersAndUnknownOnesAreDuplicates) {
  FakeLink link([](std::uint64_t id, auto) -> std::vector<FakeLink::Answer> {
    if (id == 5) return {{milliseconds(1), FakeLink::result(id)}, {milliseconds(2), FakeLink::result(id)}};
    if (id == 9)
      return {{milliseconds(1), FakeLink::result(id)}, {milliseconds(1), FakeLink::result(123456)}};
    if (id == 1000)
      return {{milliseconds(1), FakeLink::result(id)}, {milliseconds(20), FakeLink::result(id)}};
    return {{milliseconds(1), FakeLink::result(id)}};
  });
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.duplicates, 3U);
  EXPECT_EQ(tally.completed, 1000U);
}

TEST_F(Connection, WhatIsNeverAnsweredIsLostInBoundedTime) {
  FakeLink link([](std::uint64_t id, auto) -> std::vector<FakeLink::Answer> {
    if (id > 900) return {};
    return {{milliseconds(1), FakeLink::result(id)}};
  });
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.completed, 900U);
  EXPECT_EQ(tally.errors.at(kLost), 100U);
  EXPECT_LE(took_, seconds(10) + plan_.timeout + milliseconds(100));
}

TEST_F(Connection, AnAnswerAfterItsTimeIsNoDuplicate) {
  FakeLink link([](std::uint64_t id, auto) -> std::vector<FakeLink::Answer> {
    if (id == 3) return {{seconds(5), FakeLink::result(id)}, {seconds(6), FakeLink::result(id)}};
    return {{milliseconds(1), FakeLink::result(id)}};
  });
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.errors.at(kLost), 1U);
  EXPECT_EQ(tally.completed, 999U);
  EXPECT_EQ(tally.duplicates, 1U) << "the second of the late answers is one";
}

TEST_F(Connection, PartialAnswersDoNotCount) {
  FakeLink link([](std::uint64_t id, auto) -> std::vector<FakeLink::Answer> {
    Reply partial = FakeLink::result(id);
    partial.header.kind = ReplyKind::kPartial;
    partial.header.final = false;
    return {{milliseconds(1), partial}, {milliseconds(3), FakeLink::result(id)}};
  });
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.completed, 1000U);
  EXPECT_EQ(tally.duplicates, 0U);
  EXPECT_GE(tally.latency.percentile(0.01), milliseconds(3));
}

TEST_F(Connection, RefusedSendsAreErrorsAndDoNotSpin) {
  plan_.arrivals = Arrivals::kClosed;
  plan_.concurrency = 4;
  FakeLink link(FakeLink::steady(milliseconds(1)));
  link.refuse_sends = true;
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.completed, 0U);
  EXPECT_EQ(tally.errors.at("UNAVAILABLE"), tally.offered);
  EXPECT_LE(tally.offered, 4U * 10000U / 5U + 4U) << "a slot rests after a failure";
  EXPECT_GE(tally.offered, 1000U) << "but comes back";
}

TEST_F(Connection, ABrokenLinkEndsTheLoadAndFailsWhatWasInFlight) {
  FakeLink link(FakeLink::steady(seconds(1)));
  link.dies_at = link.now() + seconds(5);
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.offered, tally.completed + tally.failed());
  EXPECT_GT(tally.errors.at("UNAVAILABLE"), 90U);
  EXPECT_LE(took_, seconds(6));
}

TEST_F(Connection, AStopRequestDrains) {
  std::stop_source stop;
  FakeLink link(FakeLink::steady(milliseconds(500)));
  link.on_receive = [&] {
    if (link.now() >= start_ + seconds(3)) stop.request_stop();
  };
  const LoadTally& tally = run(link, stop.get_token());
  EXPECT_NEAR(static_cast<double>(tally.offered), 300.0, 2.0);
  EXPECT_EQ(tally.completed, tally.offered) << "what was in flight is still answered";
  EXPECT_LE(took_, milliseconds(3700));
}

TEST_F(Connection, RequestNumbersFollowThePlan) {
  plan_.first_index = 2;
  plan_.index_step = 3;
  plan_.requests = 5;
  plan_.samples = 100;
  std::vector<std::vector<std::int32_t>> seen;
  FakeLink link([&](std::uint64_t id, std::span<const std::int32_t> tokens) {
    seen.emplace_back(tokens.begin(), tokens.end());
    return std::vector<FakeLink::Answer>{{milliseconds(1), FakeLink::result(id)}};
  });
  run(link);
  const auto samples = connection_->take_samples();
  ASSERT_EQ(samples.size(), 5U);
  RequestContent content;
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(samples[k].index, 2 + 3 * k);
    source_.make(samples[k].index, content);
    EXPECT_EQ(content.tokens, seen[k]) << "a sample's request can be made again";
  }
}

TEST_F(Connection, TakesBackAFractionOfWhatIsStillInFlight) {
  common_.cancel_fraction = 0.25;
  common_.cancel_after = milliseconds(10);
  CancellingLink slow(FakeLink::steady(milliseconds(30)));
  run(slow);
  EXPECT_GT(slow.cancelled.size(), 200U);  // of 1000
  EXPECT_LT(slow.cancelled.size(), 300U);
  for (const auto& [at, id] : slow.cancelled) {
    EXPECT_EQ(at, slow.sent[id - 1].first + milliseconds(10));
  }
  CancellingLink fast(FakeLink::steady(milliseconds(5)));
  run(fast);
  EXPECT_TRUE(fast.cancelled.empty());
}

TEST_F(Connection, CountsWhatIsOnTimeAndHowSoonRefusalsCome) {
  common_.deadline = milliseconds(20);
  FakeLink link([](std::uint64_t id, auto) -> std::vector<FakeLink::Answer> {
    if (id % 4 == 0) {
      Reply refusal = FakeLink::error(id, ErrorCode::kOverloaded);
      refusal.header.retry_after_us = 7000;
      return {{milliseconds(2), refusal}};
    }
    return {{id % 2 == 0 ? milliseconds(21) : milliseconds(20), FakeLink::result(id)}};
  });
  const LoadTally& tally = run(link);
  EXPECT_EQ(tally.completed, 750U);
  EXPECT_EQ(tally.on_time, 500U);
  EXPECT_EQ(tally.errors.at("OVERLOADED"), 250U);
  EXPECT_EQ(tally.refused.max(), milliseconds(2));
  EXPECT_EQ(tally.retry_after.max(), milliseconds(7));
}

TEST_F(Connection, NeverExceedsItsHighestRate) {
  plan_.arrivals = Arrivals::kClosed;
  plan_.concurrency = 50;
  plan_.highest_rate = 200;
  plan_.measured = seconds(5);
  FakeLink link(FakeLink::steady(microseconds(10)));
  const LoadTally tally = run(link);
  EXPECT_NEAR(static_cast<double>(tally.offered), 1020, 3)
      << "a tenth of a second's worth at once, then 200 a second";
  for (std::size_t i = 22; i < link.sent.size(); ++i)
    ASSERT_GE(link.sent[i].first - link.sent[i - 1].first, milliseconds(4)) << i;
}

TEST_F(Connection, AScheduleBelowTheHighestRateIsKept) {
  plan_.highest_rate = 101;
  FakeLink link(FakeLink::steady(milliseconds(1)));
  EXPECT_EQ(run(link).offered, 1000U);
  EXPECT_LE(connection_->tally().late.max(), microseconds(10));
}

// Two models in one load: each has its own account, of all that was sent, and together they are the whole.
TEST(ConnectionOfAMix, KeepsAnAccountOfEachClass) {
  const RequestMix mix(5,
                       {{{.model = "quick", .deadline = milliseconds(50)}, {1, LengthSource::fixed(1), 9}, 3},
                        {{.model = "slow", .cancel_fraction = 1, .cancel_after = milliseconds(5)},
                         {1, LengthSource::fixed(2), 9},
                         1}});
  ConnectionPlan plan;
  plan.arrivals = Arrivals::kConstant;
  plan.rate = 100;
  plan.warmup = seconds(1);
  plan.measured = seconds(4);
  plan.timeout = seconds(2);
  CancellingLink link([](std::uint64_t id, std::span<const std::int32_t> tokens) {
    using Answers = std::vector<FakeLink::Answer>;
    if (tokens.size() == 1) return Answers{{milliseconds(30), FakeLink::result(id)}};
    return Answers{{milliseconds(90), FakeLink::error(id, ErrorCode::kCancelled)}};
  });
  LoadProgress progress;
  LoadConnection connection(plan, mix, link, progress);
  connection.run(link.now(), {});
  const LoadTally& quick = connection.by_class()[0];
  const LoadTally& slow = connection.by_class()[1];
  EXPECT_EQ(quick.completed, quick.offered);
  EXPECT_EQ(quick.on_time, quick.offered);
  EXPECT_EQ(quick.outcomes.at(kAnswered), quick.offered + quick.warmup_offered);
  EXPECT_EQ(slow.completed, 0U);
  EXPECT_EQ(slow.outcomes.at("CANCELLED"), slow.offered + slow.warmup_offered);
  EXPECT_EQ(link.cancelled.size(), slow.offered + slow.warmup_offered) << "and none of the others";
  EXPECT_EQ(quick.offered + slow.offered, 400U);
  EXPECT_GT(slow.offered, 50U);
  EXPECT_EQ(connection.tally().offered, 400U);
  EXPECT_EQ(connection.tally().failed(), slow.offered);
}

}  // namespace
}  // namespace volvox
