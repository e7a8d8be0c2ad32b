#include "serving/service_estimate.h"

#include <gtest/gtest.h>

namespace volvox {
namespace {

using std::chrono::milliseconds;
using Kind = Forecast::Kind;

// Four rows at 1 ms a step, whatever the batch: 4000 steps a second.
ModelCost four_rows(double weight = 1.0) {
  ModelCost cost;
  cost.weight = weight;
  cost.rows = 4;
  cost.alone_us = cost.full_us = 1000;
  return cost;
}

ServiceEstimate with_one_model() {
  ServiceEstimate estimate;
  estimate.set_model(0, four_rows());
  return estimate;
}

ExpectedWork steps(std::uint32_t count, PriorityClass priority = PriorityClass::kNormal) {
  return {0, priority, count, true};
}
// As its client says; 0: it says nothing.
ExpectedWork claimed(std::uint32_t count) {
  return {0, PriorityClass::kNormal, count, false};
}

double ms_of(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

TEST(ServiceEstimate, KnowsWhatRunsLongerThanItMay) {
  ServiceEstimate estimate = with_one_model();
  estimate.enter(steps(1));
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(10)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(11), milliseconds(10)).kind, Kind::kNever);
}

TEST(ServiceEstimate, ARowThatIsFreeMeansNoWait) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 3; ++i) estimate.enter(steps(1000));
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(11)).kind, Kind::kInTime);
}

TEST(ServiceEstimate, ThoseBeforeWorkOffFirst) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 43; ++i) estimate.enter(steps(10));  // 40 must end before there is a row: 100 ms
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(140)).kind, Kind::kInTime);
  const Forecast late = estimate.forecast(steps(10), milliseconds(70));
  EXPECT_EQ(late.kind, Kind::kTooMuchAhead);
  EXPECT_NEAR(ms_of(late.retry_after), 65.0, 10.0);
  EXPECT_NEAR(ms_of(estimate.backlog()), 107.5, 0.1);
  for (int i = 0; i < 43; ++i) estimate.leave(steps(10));
  EXPECT_EQ(estimate.backlog(), Duration::zero());
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(10)).kind, Kind::kInTime);
}

TEST(ServiceEstimate, TellsWhenANewcomerWouldFindARow) {
  ServiceEstimate estimate = with_one_model();
  EXPECT_EQ(estimate.wait(7), Duration::zero()) << "nobody knows that one";
  for (int i = 0; i < 3; ++i) estimate.enter(steps(10));
  EXPECT_EQ(estimate.wait(0), Duration::zero()) << "there is one";
  estimate.enter(steps(10));
  EXPECT_NEAR(ms_of(estimate.wait(0)), 2.5, 0.01) << "one of four must end";
  for (int i = 0; i < 39; ++i) estimate.enter(steps(10));
  EXPECT_NEAR(ms_of(estimate.wait(0)), 100, 0.01);
  estimate.enter(steps(1000, PriorityClass::kLow));
  EXPECT_NEAR(ms_of(estimate.wait(0)), 100, 0.01) << "those of lower classes wait for it";
  for (int i = 0; i < 43; ++i) estimate.leave(steps(10));
  EXPECT_EQ(estimate.wait(0), Duration::zero());
}

TEST(ServiceEstimate, HigherClassesDoNotWaitForLowerOnes) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 40; ++i) estimate.enter(steps(100, PriorityClass::kLow));
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(15)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(10, PriorityClass::kLow), milliseconds(15)).kind, Kind::kTooMuchAhead);
}

TEST(ServiceEstimate, AnotherModelTakesItsShareAndNoMore) {
  ServiceEstimate estimate = with_one_model();
  estimate.set_model(1, four_rows(3.0));
  for (int i = 0; i < 4; ++i) estimate.enter({1, PriorityClass::kNormal, 10'000, true});
  // 10 ms of its own, three times as much of the other.
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(50)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(35)).kind, Kind::kTooMuchAhead);
}

TEST(ServiceEstimate, LearnsHowFastTheDeviceReallyIs) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 43; ++i) estimate.enter(steps(10));
  for (int i = 0; i < 2000; ++i) estimate.measured(1000, milliseconds(2));
  EXPECT_NEAR(estimate.slowdown(), 2.0, 0.05);
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(140)).kind, Kind::kTooMuchAhead);
  for (int i = 0; i < 2000; ++i) estimate.measured(1000, milliseconds(1));
  EXPECT_NEAR(estimate.slowdown(), 1.0, 0.05);
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(140)).kind, Kind::kInTime);
}

// However wrong the measurements were: a request that is alone is let in, and brings a new one.
TEST(ServiceEstimate, NeverRefusesWhatIsAlone) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 100; ++i) estimate.measured(1, std::chrono::seconds(1));
  EXPECT_GT(estimate.slowdown(), 10.0);
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(11)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(12), milliseconds(11)).kind, Kind::kInTime);
  estimate.enter(steps(1));
  EXPECT_EQ(estimate.forecast(steps(12), milliseconds(11)).kind, Kind::kNever);
}

TEST(ServiceEstimate, LearnsTheMeanFromWhatWasDone) {
  ServiceEstimate estimate = with_one_model();
  EXPECT_EQ(estimate.usual_steps(0), 0U);
  for (int i = 0; i < 500; ++i) estimate.enter(steps(4096));
  EXPECT_EQ(estimate.usual_steps(0), 0U) << "that somebody came says nothing";
  for (int i = 0; i < 500; ++i) estimate.done(0, 30);
  EXPECT_EQ(estimate.usual_steps(0), 30U);
  EXPECT_EQ(estimate.usual_steps(7), 0U);
  estimate.set_model(0, four_rows());
  EXPECT_EQ(estimate.usual_steps(0), 0U) << "another model has the number now";
}

// A client's word for its own length is no reason to say that it never can be: it may be a guess, or a mean.
TEST(ServiceEstimate, SaysNeverOnlyOfStepsThatWereCounted) {
  ServiceEstimate estimate = with_one_model();
  estimate.enter(steps(1));
  EXPECT_EQ(estimate.forecast(claimed(1000), milliseconds(10)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(claimed(0), milliseconds(10)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(1000), milliseconds(10)).kind, Kind::kNever);
}

// An hour of long documents without hints, and the estimate knows nothing else; then short queries with tight
// deadlines, also without. They get in, the first of them and those that come after, and the mean falls.
TEST(ServiceEstimate, LongOnesBeforeDoNotKeepShortOnesOut) {
  ServiceEstimate estimate = with_one_model();
  const auto serve = [&](std::uint32_t length, Duration deadline) {
    const Kind at_the_door = estimate.forecast(claimed(0), deadline).kind;
    if (at_the_door != Kind::kInTime) return at_the_door;
    const ExpectedWork unread = claimed(estimate.usual_steps(0));
    estimate.enter(unread);
    estimate.leave(unread);
    const Kind read = estimate.forecast(steps(length), deadline).kind;
    if (read == Kind::kInTime) estimate.done(0, length);
    return read;
  };
  for (int i = 0; i < 3600; ++i) ASSERT_EQ(serve(4000, std::chrono::seconds(60)), Kind::kInTime);
  EXPECT_EQ(estimate.usual_steps(0), 4000U);
  estimate.enter(steps(4000));  // one of them still runs: there are rows beside it
  for (int i = 0; i < 500; ++i) ASSERT_EQ(serve(2, milliseconds(20)), Kind::kInTime) << "query " << i;
  EXPECT_LT(estimate.usual_steps(0), 10U);
}

// What came later does not delay what came before, although it may be counted before that is read.
TEST(ServiceEstimate, LaterOnesAreNotAhead) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 4; ++i) estimate.enter(steps(10));
  const auto ahead = estimate.ahead(0, PriorityClass::kNormal);
  EXPECT_EQ(ahead.requests, 4U);
  EXPECT_EQ(ahead.steps, 40U);
  for (int i = 0; i < 400; ++i) estimate.enter(steps(100));
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(30)).kind, Kind::kTooMuchAhead);
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(30), ahead).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(10), Duration::max()).kind, Kind::kInTime) << "it has no deadline";
}

ExpectedWork of(std::uint64_t client, std::uint32_t count) {
  ExpectedWork work = steps(count);
  work.client = client;
  return work;
}

// Newcomers of others may have their turns before it: so much room is left for them.
TEST(ServiceEstimate, LeavesRoomForOthersWhereSeveralClientsAsk) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 24; ++i) estimate.enter(of(7, 20));  // the next begins in 105 ms and ends in 125
  EXPECT_EQ(estimate.forecast(of(7, 20), milliseconds(155)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(of(7, 20), milliseconds(145)).kind, Kind::kTooMuchAhead);
  EXPECT_EQ(estimate.forecast(of(8, 20), milliseconds(225)).kind, Kind::kTooMuchAhead) << "a second one";

  estimate.enter(of(8, 1));
  estimate.leave(of(8, 1));
  for (const std::uint64_t client : {7U, 8U}) {
    EXPECT_EQ(estimate.forecast(of(client, 20), milliseconds(225)).kind, Kind::kTooMuchAhead);
    EXPECT_EQ(estimate.forecast(of(client, 20), milliseconds(235)).kind, Kind::kInTime);
  }

  estimate.enter(of(7, 1));
  estimate.leave(of(7, 1));
  estimate.measured(10'000'000, std::chrono::seconds(10));  // for so long nobody else has come
  EXPECT_EQ(estimate.forecast(of(7, 20), milliseconds(155)).kind, Kind::kInTime);
}

TEST(ServiceEstimate, KnowsNothingOfAModelThatIsNotThere) {
  ServiceEstimate estimate;
  estimate.enter(steps(5));
  estimate.leave(steps(5));
  EXPECT_EQ(estimate.forecast(steps(5), Duration::zero()).kind, Kind::kInTime);
}

TEST(ModelCost, CountsEveryLaneOfAStep) {
  std::vector<TypeConfig> types(2);
  for (CellTypeId id = 0; id < 2; ++id) types[id].id = id;
  types[0].max_batch = 8;
  types[0].costs = {{1, 10}, {8, 24}};
  types[1].max_batch = 64;
  types[1].independent = true;
  types[1].costs = {{64, 128}};
  LanePlan plan;
  plan.lanes.resize(2);
  plan.lanes[1].type = 1;
  const ModelCost cost = model_cost(plan, types, 1);
  EXPECT_EQ(cost.rows, 8U);
  EXPECT_DOUBLE_EQ(cost.alone_us, 10 + 2);
  EXPECT_DOUBLE_EQ(cost.full_us, 24 + 16);
  EXPECT_DOUBLE_EQ(cost.step_us(1), 12);
  EXPECT_DOUBLE_EQ(cost.step_us(100), 40);
  EXPECT_EQ(model_cost(plan, types, 3).rows, 24U);
}

// Leaves at 2 us in a full batch and inner nodes at 6; nobody waits for a row, but for the work before.
TEST(ModelCost, ANodeCostsItsShareOfAFullBatch) {
  std::vector<TypeConfig> types(2);
  types[0].id = 4;
  types[1].id = 5;
  types[0].max_batch = types[1].max_batch = 10;
  types[0].costs = {{1, 8.0}, {10, 20.0}};
  types[1].costs = {{1, 9.0}, {10, 60.0}};
  const ModelCost cost = model_cost({}, types, 1);
  EXPECT_DOUBLE_EQ(cost.unit_us(), 4.0);
  EXPECT_DOUBLE_EQ(cost.alone_us, 4.0);
  EXPECT_DOUBLE_EQ(model_cost({}, types, 2).unit_us(), 2.0);
  ServiceEstimate estimate;
  estimate.set_model(0, cost);
  estimate.enter(steps(1));
  EXPECT_EQ(estimate.forecast(steps(1000), milliseconds(5)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(1000), milliseconds(3)).kind, Kind::kNever);
  estimate.enter(steps(10'000));
  EXPECT_NEAR(ms_of(estimate.backlog()), 40.0, 0.01);
  EXPECT_EQ(estimate.forecast(steps(1000), milliseconds(60)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(1000), milliseconds(30)).kind, Kind::kTooMuchAhead);
}

TEST(ModelCost, LanesOfOneTypeShareItsBatch) {
  std::vector<TypeConfig> types(1);
  types[0].max_batch = 8;
  types[0].costs = {{1, 10}, {8, 80}};
  LanePlan plan;
  plan.lanes.resize(2);
  const ModelCost cost = model_cost(plan, types, 1);
  EXPECT_EQ(cost.rows, 4U);
  EXPECT_DOUBLE_EQ(cost.alone_us, 20);
  EXPECT_DOUBLE_EQ(cost.full_us, 80);
}

}  // namespace
}  // namespace volvox
