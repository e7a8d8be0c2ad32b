#include "device/row_table.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace volvox {
namespace {

using ::testing::ElementsAre;

constexpr RowShape kShape{1, 1, 1, true};

// A lane that lives in slots base and base + 1, reads inputs at `input` and starts at cohort step `start`.
RowBinding lane(std::uint32_t base, DeviceAddress input, std::uint64_t start, std::uint32_t length) {
  RowBinding b;
  b.gathers[0] = {base, 2, -1, 1, kInitialSlot};
  b.pulls[0] = {input, 4};
  b.out_base = base;
  b.out_ring = 2;
  b.start = start;
  b.length = length;
  return b;
}

Task cohort_task(std::uint64_t step, std::uint32_t rows) {
  Task task;
  task.form = Task::Form::kCohort;
  task.cohort = 1;
  task.step = step;
  task.rows = rows;
  return task;
}

std::vector<std::uint32_t> first(const std::vector<std::uint32_t>& v, std::uint32_t n) {
  return {v.begin(), v.begin() + n};
}

TEST(RowTables, StepsAreAffine) {
  RowTables tables(2, 8);
  Task task = cohort_task(10, 2);
  task.bindings = {lane(2, 1000, 10, 3), lane(4, 2000, 10, 1)};
  task.changes = {{0, RowChange::kBind, 0}, {1, RowChange::kBind, 1}};
  ASSERT_TRUE(tables.apply(task));
  ResolvedRows rows;
  tables.resolve(task, kShape, rows);
  EXPECT_EQ(rows.rows, 2U);
  EXPECT_THAT(first(rows.gathers[0], 2), ElementsAre(kInitialSlot, kInitialSlot));
  EXPECT_THAT(first(rows.out, 2), ElementsAre(2, 4));
  EXPECT_EQ(rows.pulls[0][0], 1000U);

  Task next = cohort_task(11, 2);
  ASSERT_TRUE(tables.apply(next));
  tables.resolve(next, kShape, rows);
  EXPECT_THAT(first(rows.gathers[0], 2), ElementsAre(2, kInitialSlot)) << "nor does it read a state";
  EXPECT_THAT(first(rows.out, 2), ElementsAre(3, 5));
  EXPECT_EQ(rows.pulls[0][0], 1004U);
  EXPECT_EQ(rows.pulls[0][1], 0U) << "a step past the length reads zeros";
}

TEST(RowTables, PaddingStepsOfACohortLeaveTheLastState) {
  RowTables tables(2, 8);
  Task task = cohort_task(0, 1);
  task.bindings = {lane(2, 1000, 0, 3)};
  task.changes = {{0, RowChange::kBind, 0}};
  ResolvedRows rows;
  std::vector<std::uint32_t> out;
  for (std::uint64_t step = 0; step < 7; ++step) {
    if (step > 0) task = cohort_task(step, 1);
    ASSERT_TRUE(tables.apply(task));
    tables.resolve(task, kShape, rows);
    out.push_back(rows.out[0]);
    if (step >= 3) {
      EXPECT_EQ(rows.gathers[0][0], kInitialSlot);
    }
  }
  EXPECT_THAT(out, ElementsAre(2, 3, 2, 3, 3, 3, 3)) << "the last state is in slot 2";
}

TEST(RowTables, PaddingStepsThatShareATaskHaveASlotEach) {
  RowTables tables(2, 8);
  Task task;
  task.rows = 4;
  task.bindings = {lane(2, 1000, 0, 2)};
  task.bindings[0].out_ring = 4;
  task.bindings[0].span = 4;
  task.bindings[0].start = 0;
  ASSERT_TRUE(tables.apply(task));
  ResolvedRows rows;
  tables.resolve(task, kShape, rows);
  EXPECT_THAT(first(rows.out, 4), ElementsAre(2, 3, 4, 5));
}

TEST(RowTables, MovesAndJoinsInOrder) {
  RowTables tables(2, 8);
  Task task = cohort_task(0, 3);
  task.bindings = {lane(2, 0, 0, 9), lane(4, 0, 0, 9), lane(6, 0, 0, 9)};
  task.changes = {{0, RowChange::kBind, 0}, {1, RowChange::kBind, 1}, {2, RowChange::kBind, 2}};
  ASSERT_TRUE(tables.apply(task));
  Task next = cohort_task(1, 2);  // row 0 leaves, row 2 takes its place, then a new lane takes row 1
  next.bindings = {lane(8, 0, 1, 9)};
  next.changes = {{0, 2, 0}, {1, RowChange::kBind, 0}};
  ASSERT_TRUE(tables.apply(next));
  ResolvedRows rows;
  tables.resolve(next, kShape, rows);
  EXPECT_THAT(first(rows.out, 2), ElementsAre(7, 8));
  EXPECT_THAT(first(rows.gathers[0], 2), ElementsAre(6, kInitialSlot));
}

TEST(RowTables, PaddingRowsTouchOnlyReservedSlots) {
  RowTables tables(2, 8);
  Task task = cohort_task(0, 1);
  task.padded_rows = 3;
  task.bindings = {lane(2, 1000, 0, 9)};
  task.changes = {{0, RowChange::kBind, 0}};
  ASSERT_TRUE(tables.apply(task));
  ResolvedRows rows;
  tables.resolve(task, kShape, rows);
  EXPECT_EQ(rows.rows, 3U);
  EXPECT_EQ(rows.real_rows, 1U);
  EXPECT_THAT(first(rows.gathers[0], 3), ElementsAre(kInitialSlot, kInitialSlot, kInitialSlot));
  EXPECT_THAT(first(rows.out, 3), ElementsAre(2, kSinkSlot, kSinkSlot));
  EXPECT_EQ(rows.pulls[0][2], 0U);
  EXPECT_THAT(rows.ragged_begin, ElementsAre(0, 0, 0, 0));
}

TEST(RowTables, ResultsComeFromPushTargetsAndEmits) {
  RowTables tables(2, 8);
  Task task = cohort_task(1, 2);
  task.bindings = {lane(2, 0, 0, 9), lane(4, 0, 0, 1)};
  task.bindings[0].pushes[0] = {5000, 8};
  task.bindings[1].pushes[0] = {6000, 8};
  task.changes = {{0, RowChange::kBind, 0}, {1, RowChange::kBind, 1}};
  task.emits = {{1, 0, 7000}};
  ASSERT_TRUE(tables.apply(task));
  ResolvedRows rows;
  tables.resolve(task, kShape, rows);
  ASSERT_EQ(rows.pushes[0].size(), 2U);
  EXPECT_EQ(rows.pushes[0][0].row, 0U);
  EXPECT_EQ(rows.pushes[0][0].address, 5008U);
  EXPECT_EQ(rows.pushes[0][1].row, 1U) << "the padding step of row 1 emits nothing but what is asked for";
  EXPECT_EQ(rows.pushes[0][1].address, 7000U);
}

TEST(RowTables, ListedRowsCoverSpansAndRaggedLists) {
  RowTables tables(2, 8);
  Task task;
  task.rows = 4;
  task.bindings = {lane(2, 1000, 5, 9), lane(40, 2000, 0, 9)};
  task.bindings[0].span = 3;
  task.bindings[0].out_ring = 16;
  task.bindings[0].ragged = {30, 2, false};
  task.bindings[1].ragged = {1, 2, true};
  task.edges = {99, 50, 60};
  task.emits = {{1, 0, 7000}};
  ASSERT_TRUE(tables.apply(task));
  ResolvedRows rows;
  tables.resolve(task, kShape, rows);
  EXPECT_THAT(first(rows.out, 4), ElementsAre(7, 8, 9, 40));
  EXPECT_EQ(rows.pulls[0][2], 1000U + 7 * 4);
  EXPECT_THAT(rows.ragged_begin, ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(rows.ragged_slots, ElementsAre(30, 31, 30, 31, 30, 31, 50, 60));
  ASSERT_EQ(rows.pushes[0].size(), 1U);
  EXPECT_EQ(rows.pushes[0][0].row, 3U);
}

TEST(RowTables, RefusesWhatIsOutOfRange) {
  RowTables tables(2, 2);
  Task unbound = cohort_task(0, 1);
  EXPECT_FALSE(tables.apply(unbound));
  Task elsewhere = cohort_task(0, 0);
  elsewhere.cohort = 2;
  EXPECT_FALSE(tables.apply(elsewhere));
  Task past = cohort_task(0, 3);
  past.bindings = {lane(2, 0, 0, 9)};
  past.changes = {{2, RowChange::kBind, 0}};
  EXPECT_FALSE(tables.apply(past));
  Task missing = cohort_task(0, 1);
  missing.changes = {{0, RowChange::kBind, 0}};
  EXPECT_FALSE(tables.apply(missing));
  Task gap = cohort_task(0, 2);
  gap.bindings = {lane(2, 0, 0, 9)};
  gap.changes = {{1, RowChange::kBind, 0}};
  EXPECT_FALSE(tables.apply(gap));
  Task listed;
  listed.rows = 2;
  listed.bindings = {lane(2, 0, 0, 9)};
  EXPECT_FALSE(tables.apply(listed));
  listed.rows = 1;
  listed.emits = {{1, 0, 64}};
  EXPECT_FALSE(tables.apply(listed));
  listed.emits.clear();
  listed.bindings[0].ragged = {0, 1, true};
  EXPECT_FALSE(tables.apply(listed));
}

TEST(RowTables, RowsThatLeftAreForgotten) {
  RowTables tables(2, 4);
  Task task = cohort_task(0, 2);
  task.bindings = {lane(2, 0, 0, 9), lane(4, 0, 0, 9)};
  task.changes = {{0, RowChange::kBind, 0}, {1, RowChange::kBind, 1}};
  ASSERT_TRUE(tables.apply(task));
  ASSERT_TRUE(tables.apply(cohort_task(1, 1)));
  EXPECT_FALSE(tables.apply(cohort_task(2, 2)));
}

}  // namespace
}  // namespace volvox
