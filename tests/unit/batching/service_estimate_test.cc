#include "batching/service_estimate.h"

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
  return {0, priority, count};
}

double ms_of(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

TEST(ServiceEstimate, KnowsWhatRunsLongerThanItMay) {
  const ServiceEstimate estimate = with_one_model();
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

TEST(ServiceEstimate, HigherClassesDoNotWaitForLowerOnes) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 40; ++i) estimate.enter(steps(100, PriorityClass::kLow));
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(15)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(10, PriorityClass::kLow), milliseconds(15)).kind, Kind::kTooMuchAhead);
}

TEST(ServiceEstimate, AnotherModelTakesItsShareAndNoMore) {
  ServiceEstimate estimate = with_one_model();
  estimate.set_model(1, four_rows(3.0));
  for (int i = 0; i < 4; ++i) estimate.enter({1, PriorityClass::kNormal, 10'000});
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
TEST(ServiceEstimate, NeverRefusesWhatIsAloneAndPossible) {
  ServiceEstimate estimate = with_one_model();
  for (int i = 0; i < 100; ++i) estimate.measured(1, std::chrono::seconds(1));
  EXPECT_GT(estimate.slowdown(), 10.0);
  EXPECT_EQ(estimate.forecast(steps(10), milliseconds(11)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(12), milliseconds(11)).kind, Kind::kNever);
}

TEST(ServiceEstimate, TakesTheMeanForStepsThatAreNotKnown) {
  ServiceEstimate estimate = with_one_model();
  EXPECT_EQ(estimate.completed(steps(0)).steps, 0U);
  EXPECT_EQ(estimate.forecast(steps(0), milliseconds(1)).kind, Kind::kInTime) << "nothing is known";
  for (int i = 0; i < 500; ++i) estimate.enter(steps(30));
  EXPECT_EQ(estimate.completed(steps(0)).steps, 30U);
  EXPECT_EQ(estimate.completed(steps(7)).steps, 7U);
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
  EXPECT_EQ(estimate.forecast(steps(1000), milliseconds(5)).kind, Kind::kInTime);
  EXPECT_EQ(estimate.forecast(steps(1000), milliseconds(3)).kind, Kind::kNever);
  estimate.enter(steps(10'000));
  EXPECT_EQ(ms_of(estimate.backlog()), 40.0);
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
