#include "install/session_rows.h"

#include <algorithm>
#include <set>

#include "tests/unit/batching/driver.h"

namespace volvox::toy {
namespace {

SessionRows rows_of(const LanePlan& plan, std::uint32_t first) {
  SessionRows rows{true, 1, {}};
  const auto carried = carried_lanes(plan);
  for (const LaneId lane : carried.value()) {
    rows.lanes.push_back({lane, plan.lanes[lane].pool, first, plan.lanes[lane].ring});
    first += rows_per_place(plan.lanes[lane].ring);
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

// Of any length after any other, whatever its numbers are: what it starts from stays, it writes nothing but
// its slot and its place's third row, and its last step is written in its slot.
TEST(SessionRows, APartNeverWritesTheStateThatItStartsFrom) {
  SessionRows rows{true, 5, {{0, 0, 100, 2}}};
  const SessionRows::Lane& lane = rows.lanes.front();
  for (std::uint32_t steps = 1; steps < 8; ++steps) {
    for (std::uint32_t into = 0; into < 10; ++into) {
      const std::uint32_t place = into * 3 % 5;
      const CarriedState from{(into + 1 + steps) % 10, 1 + steps % 3};
      if (from.slot == into) continue;
      Request part = lanes_request(1, chain_plan(), steps);
      carry(rows, from, into, place, part);
      const CarriedLane& carried = part.carried.front();
      EXPECT_EQ(carried.initial, row_of(lane, from));
      for (std::uint32_t t = 0; t < steps; ++t) {
        const std::uint32_t row = slot_in_turn(carried.base, lane.ring, carried.step, t);
        EXPECT_NE(row, carried.initial) << steps << " steps, step " << t;
        EXPECT_TRUE(row == first_row(lane, into) || row == third_row(rows, lane, place));
        EXPECT_NE(row, slot_in_turn(carried.base, lane.ring, carried.step, t + 1));
      }
      EXPECT_EQ(slot_in_turn(carried.base, lane.ring, carried.step, steps - 1), row_of(lane, {into, steps}));
    }
  }
}

TEST(SessionRows, PartsOfOneStepUseTheRowsInFrontOnly) {
  SessionRows rows{true, 5, {{0, 0, 100, 2}}};
  for (std::uint32_t slot = 0; slot < 10; ++slot) {
    Request part = lanes_request(1, chain_plan(), 1);
    carry(rows, std::nullopt, slot, 0, part);
    EXPECT_EQ(part.carried.front().base, 100 + slot);
  }
}

TEST(SessionRows, NoTwoSlotsShareARow) {
  constexpr std::uint32_t kPlaces = 4;
  for (const std::uint32_t ring : {2U, 3U}) {
    SessionRows rows{true, kPlaces, {{0, 0, 100, ring}}};
    const SessionRows::Lane& lane = rows.lanes.front();
    std::set<std::uint32_t> all;
    for (std::uint32_t slot = 0; slot < 2 * kPlaces; ++slot) {
      for (std::uint32_t row = 0; row < rows_per_slot(ring); ++row)
        EXPECT_TRUE(all.insert(first_row(lane, slot) + row).second);
    }
    for (std::uint32_t place = 0; has_third_row(ring) && place < kPlaces; ++place)
      EXPECT_TRUE(all.insert(third_row(rows, lane, place)).second);
    EXPECT_EQ(all.size(), kPlaces * rows_per_place(ring));
    EXPECT_EQ(*all.begin(), 100U);
    EXPECT_EQ(*all.rbegin(), 99 + kPlaces * rows_per_place(ring));
  }
}

TEST(SessionRows, APartNeedsNoRowsOfThePool) {
  Driver driver = driver_with_rows(kReservedSlots + 2, 4);
  Request other = lanes_request(1, chain_plan(), 3);
  EXPECT_EQ(driver.admit(other).kind, AdmitResult::Kind::kAdmitted);  // takes all that requests share
  Request part = lanes_request(2, chain_plan(), 3);
  carry(rows_of(chain_plan(), kReservedSlots + 2), std::nullopt, 1, 0, part);
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
  EXPECT_TRUE(refused({0, 9, 10, -1})) << "its second row is the state";
  EXPECT_TRUE(refused({0, kInitialSlot, 8, -1})) << "its second row is a request's";
  EXPECT_TRUE(refused({1, kInitialSlot, 8}));
  EXPECT_FALSE(refused({0, 10, 8}));
}

}  // namespace
}  // namespace volvox::toy
