#include "install/session_rows.h"

#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

SessionRows rows_of(const LanePlan& plan, std::uint32_t first) {
  SessionRows rows{true, 1, {}};
  const auto carried = carried_lanes(plan);
  for (const LaneId lane : carried.value()) {
    rows.lanes.push_back({lane, plan.lanes[lane].pool, first, plan.lanes[lane].ring});
    first += 2 * plan.lanes[lane].ring;
  }
  return rows;
}

Driver driver_with_rows(std::uint32_t own, std::uint32_t more) {
  const SchedulerConfig config = scheduler_config(4, 1, 2, {own, own, own});
  return {config, make_cellular_policy(config), 4, more};
}

TEST(SessionRows, TheLanesThatReadTheirLastStepCarryIt) {
  EXPECT_EQ(carried_lanes(chain_plan()), std::vector<LaneId>{0});
  EXPECT_EQ(carried_lanes(eager_plan()), std::vector<LaneId>{1});
  EXPECT_EQ(carried_lanes(stack_plan()), (std::vector<LaneId>{0, 1, 2}));
}

TEST(SessionRows, WhatReadsTheEndCannotBeRunInParts) {
  EXPECT_FALSE(carried_lanes(bidirectional_plan()));
  EXPECT_FALSE(carried_lanes(seq2seq_plan()));
  EXPECT_FALSE(carried_lanes(attention_plan()));
  EXPECT_FALSE(carried_lanes(stopped_plan()));
  EXPECT_FALSE(carried_lanes(LanePlan{})) << "nodes of a tree";
}

TEST(SessionRows, TheStateIsTheLastRowThatTheLaneRotatedTo) {
  const SessionRows::Lane lane{0, 0, 100, 4};
  EXPECT_EQ(row_of(lane, {0, 1}), 100U);
  EXPECT_EQ(row_of(lane, {0, 4}), 103U);
  EXPECT_EQ(row_of(lane, {0, 5}), 100U);
  EXPECT_EQ(row_of(lane, {1, 2}), 105U);
}

TEST(SessionRows, APartNeedsNoRowsOfThePool) {
  Driver driver = driver_with_rows(kReservedSlots + 2, 4);
  Request other = lanes_request(1, chain_plan(), 3);
  EXPECT_EQ(driver.admit(other).kind, AdmitResult::Kind::kAdmitted);  // takes all that requests share
  Request part = lanes_request(2, chain_plan(), 3);
  carry(rows_of(chain_plan(), kReservedSlots + 2), std::nullopt, 1, part);
  EXPECT_EQ(driver.admit(part).kind, AdmitResult::Kind::kAdmitted);
  EXPECT_EQ(driver.schedule(0).front()->rows, 2U) << "a part shares tasks with everybody else";
  driver.run_to_the_end();
  driver.check();
}

TEST(SessionRows, RowsOfRequestsAndOverlapsAreRefused) {
  Driver driver = driver_with_rows(8, 8);
  const auto refused = [&](CarriedLane carried) {
    Request part = lanes_request(1, chain_plan(), 3);
    part.carried = {carried};
    return driver.admit(part).kind == AdmitResult::Kind::kNeverFits;
  };
  EXPECT_TRUE(refused({0, kInitialSlot, 7}));
  EXPECT_TRUE(refused({0, 7, 8}));
  EXPECT_TRUE(refused({0, 9, 8}));
  EXPECT_TRUE(refused({1, kInitialSlot, 8}));
  EXPECT_FALSE(refused({0, 10, 8}));
}

}  // namespace
}  // namespace volvox::toy
