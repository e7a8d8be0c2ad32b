#include "loadgen/run/run.h"

#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/loadgen/fake_link.h"

namespace volvox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers at once, in real time.
class EchoLink : public LoadLink {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }

  Status send(std::uint64_t id, const RequestContent&) override {
    Reply reply;
    reply.header.request_id = id;
    waiting_.push_back(reply);
    return {};
  }

  Status receive(Duration at_most, std::vector<Reply>& replies) override {
    if (waiting_.empty()) std::this_thread::sleep_for(std::min<Duration>(at_most, milliseconds(1)));
    std::move(waiting_.begin(), waiting_.end(), std::back_inserter(replies));
    waiting_.clear();
    return {};
  }

 private:
  std::vector<Reply> waiting_;
};

Result<std::unique_ptr<LoadLink>> open_echo() {
  return std::make_unique<EchoLink>();
}

const RequestMix& mix() {
  static const RequestMix mix(1, {{{.model = "lstm"}, {1, LengthSource::fixed(2), 10}}});
  return mix;
}

TEST(RunLoad, ConnectionsShareTheWork) {
  LoadPlan plan;
  plan.rate = 1000;
  plan.connections = 3;
  plan.requests = 200;
  plan.samples = 1000;
  const auto outcome = run_load(plan, mix(), open_echo, {}, {});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->tally.offered, 200U);
  EXPECT_EQ(outcome->tally.completed, 200U);
  std::set<std::uint64_t> indices;
  for (const AnswerSample& sample : outcome->samples) indices.insert(sample.index);
  EXPECT_EQ(indices.size(), 200U);
  EXPECT_GT(outcome->seconds, 0.05);
}

TEST(RunLoad, MeasuresAtLeastTheTimeAskedFor) {
  LoadPlan plan;
  plan.arrivals = Arrivals::kClosed;
  plan.concurrency = 4;
  plan.warmup = milliseconds(50);
  plan.measured = milliseconds(200);
  const auto outcome = run_load(plan, mix(), open_echo, {}, {});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_GE(outcome->seconds, 0.2);
  EXPECT_GT(outcome->tally.completed, 10U);
  EXPECT_GT(outcome->tally.warmup_completed, 0U);
}

// A server that answers one every 10 ms, in order, while 50 wait: that it takes half a second more to answer
// those that are left at the end does not make it slower.
TEST(RunLoad, AClosedLoopsRateIsThatOfAServerThatIsAskedForMore) {
  LoadPlan plan;
  plan.arrivals = Arrivals::kClosed;
  plan.concurrency = 50;
  plan.warmup = seconds(1);
  plan.measured = seconds(2);
  const auto open_server = []() -> Result<std::unique_ptr<LoadLink>> {
    auto busy_until = std::make_shared<TimePoint>();
    auto self = std::make_shared<FakeLink*>();
    auto link = std::make_unique<FakeLink>([busy_until, self](std::uint64_t id, auto) {
      const TimePoint now = (*self)->now();
      *busy_until = std::max(*busy_until, now) + milliseconds(10);
      return std::vector<FakeLink::Answer>{{*busy_until - now, FakeLink::result(id)}};
    });
    *self = link.get();
    return link;
  };
  const auto outcome = run_load(plan, mix(), open_server, {}, {});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_NEAR(static_cast<double>(outcome->tally.completed) / outcome->seconds, 100, 1);
}

TEST(RunLoad, ReportsProgressAndStops) {
  LoadPlan plan;
  plan.rate = 200;
  plan.measured = seconds(60);
  std::stop_source stop;
  std::vector<ProgressReading> readings;
  const auto outcome =
      run_load(plan, mix(), open_echo, stop.get_token(), [&](const ProgressReading& reading) {
        readings.push_back(reading);
        stop.request_stop();
      });
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->tally.completed, outcome->tally.offered);
  EXPECT_LT(outcome->seconds, 30.0);
  ASSERT_GE(readings.size(), 1U);
  EXPECT_GT(readings[0].completed, 0U);
  EXPECT_GT(readings[0].rate, 0.0);
  EXPECT_FALSE(progress_line(readings[0]).empty());
}

TEST(RunLoad, ABadPlanAndAClosedDoorAreErrors) {
  EXPECT_FALSE(run_load(LoadPlan{}, mix(), open_echo, {}, {}).has_value());
  LoadPlan plan;
  plan.rate = 10;
  plan.requests = 1;
  const auto refused = run_load(
      plan, mix(),
      []() -> Result<std::unique_ptr<LoadLink>> { return fail(ErrorCode::kUnavailable, "nobody there"); }, {},
      {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
}

TEST(Progress, ReadsIntervals) {
  LoadProgress progress;
  ProgressMeter meter(progress);
  progress.offered = 12;
  progress.completed = 10;
  progress.latency_ns = 20'000'000;
  progress.worst_late_ns = 3'000'000;
  const ProgressReading first = meter.read(seconds(2));
  EXPECT_EQ(first.rate, 5.0);
  EXPECT_EQ(first.mean_latency_ms, 2.0);
  EXPECT_EQ(first.worst_late_ms, 3.0);
  const ProgressReading second = meter.read(seconds(3));
  EXPECT_EQ(second.rate, 0.0);
  EXPECT_EQ(second.mean_latency_ms, 0.0);
  EXPECT_EQ(second.worst_late_ms, 0.0);
  EXPECT_EQ(second.completed, 10U);
}

}  // namespace
}  // namespace volvox
