#include <cstring>
#include <thread>

#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "chain_fixture.h"
#include "cpu/queue/cpu_queue.h"

namespace volvox::cpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A device with the check cell and one queue; tasks of single listed rows.
class QueueTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = CpuDevice::make({.measure = false}).value();
    const Cell cell = check_cell("check").value();
    ASSERT_TRUE(device_->add_pool(0, cell.states, 100));
    ASSERT_TRUE(device_->compile(7, cell, {}, {}));
    queue_ = open();
  }
  std::unique_ptr<Queue> open() {
    return device_->open({.name = "test", .threads = 1, .max_tasks = 4}).value();
  }
  // Reads slot `from`, writes slot `to`, emits into result_.
  Task task(TaskSeq seq, std::uint32_t from, std::uint32_t to) {
    Task task;
    task.seq = seq;
    task.type = 7;
    task.rows = task.padded_rows = 1;
    RowBinding row;
    row.gathers[0].base = from;
    row.pulls[0] = {address_of(&token_), 4};
    row.out_base = to;
    row.length = 1;
    task.bindings.push_back(row);
    task.emits.push_back({0, 0, address_of(&result_)});
    return task;
  }
  void run(const Task& task) {
    ASSERT_TRUE(queue_->submit(task));
    ASSERT_TRUE(queue_->wait(task.seq - 1, seconds(10)));
  }

  std::int32_t token_ = 3;
  std::uint64_t result_ = 0;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(QueueTest, ReportsProgress) {
  EXPECT_EQ(queue_->progress().done, 0U);
  EXPECT_FALSE(queue_->wait(0, milliseconds(2)));
  const Task first = task(1, kInitialSlot, 2), second = task(2, 2, 3);
  run(first);
  EXPECT_EQ(result_, check_hash(0, 3));
  run(second);
  EXPECT_EQ(result_, check_hash(check_hash(0, 3), 3));
  const Progress progress = queue_->progress();
  EXPECT_EQ(progress.done, 2U);
  EXPECT_EQ(progress.first_failed, 0U);
  EXPECT_GT(progress.kernel_ns, 0U);
}

TEST_F(QueueTest, TellsWhenItsTasksRan) {
  const Task first = task(1, kInitialSlot, 2), second = task(2, 2, 3);
  run(first);
  run(second);
  const Progress progress = queue_->progress();
  ASSERT_EQ(progress.done, 2U);
  const auto one = queue_->times(1), two = queue_->times(2);
  ASSERT_TRUE(one && two);
  EXPECT_LT(TimePoint{}, one->begun);
  EXPECT_LE(one->begun, one->ended);
  EXPECT_LE(one->ended, two->begun);
  const Duration both = one->ended - one->begun + (two->ended - two->begun);
  EXPECT_EQ(static_cast<std::uint64_t>(both.count()), progress.kernel_ns);
}

TEST_F(QueueTest, BoundsTheTasksInFlight) {
  std::vector<Task> tasks;
  for (TaskSeq seq = 1; seq <= 200; ++seq)
    tasks.push_back(task(seq, seq == 1 ? 0 : 2 + seq % 2, 3 - seq % 2));
  std::size_t refused = 0;
  for (const Task& t : tasks) {
    while (!queue_->submit(t)) {
      ++refused;
      ASSERT_TRUE(queue_->wait(t.seq - 5, seconds(10)));
    }
    ASSERT_LE(t.seq - queue_->progress().done, 4U);
  }
  ASSERT_TRUE(queue_->wait(199, seconds(10)));
  std::uint64_t want = 0;
  for (int i = 0; i < 200; ++i) want = check_hash(want, 3);
  EXPECT_EQ(result_, want);
  (void)refused;
}

TEST_F(QueueTest, RefusesTasksThatDoNotFollow) {
  EXPECT_FALSE(queue_->submit(task(0, 0, 2)));
  const Task first = task(1, 0, 2);
  run(first);
  EXPECT_FALSE(queue_->submit(first));
  EXPECT_FALSE(queue_->submit(task(3, 0, 2)));
  Task unknown = task(2, 0, 2);
  unknown.type = 8;
  EXPECT_FALSE(queue_->submit(unknown));
  const Task second = task(2, 0, 2);
  run(second);
}

TEST_F(QueueTest, FailsFromABadTaskOn) {
  const Task good = task(1, 0, 2), bad = task(2, 5000, 3), later = task(3, 0, 2);
  run(good);
  ASSERT_TRUE(queue_->submit(bad));
  const Status raced = queue_->submit(later);
  ASSERT_TRUE(queue_->wait(1, seconds(10)));
  const Progress progress = queue_->progress();
  EXPECT_EQ(progress.first_failed, 2U);
  EXPECT_EQ(progress.done, 1U);
  EXPECT_NE(progress.error.find("slot"), std::string::npos) << progress.error;
  EXPECT_FALSE(queue_->submit(task(raced ? 4 : 3, 0, 2)));
  EXPECT_TRUE(queue_->wait(100, seconds(10))) << "a failed queue never makes anybody wait";
}

TEST_F(QueueTest, FailsOnRowsThatDoNotAddUp) {
  Task odd = task(1, 0, 2);
  odd.rows = 2;
  run(odd);
  EXPECT_EQ(queue_->progress().first_failed, 1U);
}

TEST_F(QueueTest, CopiesStatesInTheirPlace) {
  const Task first = task(1, 0, 2), second = task(2, 9, 3);
  ASSERT_TRUE(queue_->submit(first));
  const SlotCopy copy{0, 2, 9};
  ASSERT_TRUE(queue_->copy_state(*device_, {&copy, 1}, 1));
  run(second);
  EXPECT_EQ(result_, check_hash(check_hash(0, 3), 3));
}

TEST_F(QueueTest, ChecksCopiesBeforeItTakesThem) {
  const SlotCopy no_pool{1, 2, 3}, no_slot{0, 2, 100};
  EXPECT_FALSE(queue_->copy_state(*device_, {&no_pool, 1}, 0));
  EXPECT_FALSE(queue_->copy_state(*device_, {&no_slot, 1}, 0));
  const SlotCopy fine{0, 0, 5};
  EXPECT_FALSE(queue_->copy_state(*device_, {&fine, 1}, 1)) << "follows a task that is not there";
  EXPECT_TRUE(queue_->copy_state(*device_, {&fine, 1}, 0));
}

TEST_F(QueueTest, ReadsZerosPastTheEndOfAnInput) {
  Task past = task(1, 0, 2);
  past.bindings[0].length = 0;
  run(past);
  EXPECT_EQ(result_, check_hash(0, 0));
}

// The executor spins for a moment after a task, and sleeps then: the worker runs the next one itself.
TEST_F(QueueTest, RunsInOrderWhetherItsExecutorSleepsOrNot) {
  std::uint64_t want = 0;
  for (TaskSeq seq = 1; seq <= 400; seq += 2) {
    const Task first = task(seq, seq == 1 ? 0 : 3, 2), second = task(seq + 1, 2, 3);
    if (seq % 4 == 1) std::this_thread::sleep_for(2 * ThreadTeam::kSpin);
    ASSERT_TRUE(queue_->submit(first));
    const bool waits = seq % 8 < 4;
    ASSERT_TRUE(!waits || queue_->wait(seq - 1, seconds(10)));
    run(second);
    want = check_hash(check_hash(want, 3), 3);
    ASSERT_EQ(result_, want);
  }
}

TEST_F(QueueTest, AGlanceRunsNothing) {
  std::this_thread::sleep_for(milliseconds(1));
  const Task first = task(1, 0, 2);
  ASSERT_TRUE(queue_->submit(first));
  while (!queue_->wait(0, Duration::zero())) std::this_thread::yield();
  EXPECT_EQ(result_, check_hash(0, 3));
}

// What is left to whoever waits must run when nobody does.
TEST_F(QueueTest, RunsAlsoForWhoOnlyAsks) {
  for (TaskSeq seq = 1; seq <= 20; ++seq) {
    std::this_thread::sleep_for(2 * ThreadTeam::kSpin);
    const Task only = task(seq, 0, 2);
    result_ = 0;
    ASSERT_TRUE(queue_->submit(only));
    while (queue_->progress().done < seq) std::this_thread::yield();
    ASSERT_EQ(result_, check_hash(0, 3));
  }
}

TEST_F(QueueTest, RunsTheSecondWhoeverRunsTheFirst) {
  for (TaskSeq seq = 1; seq <= 40; seq += 2) {
    std::this_thread::sleep_for(2 * ThreadTeam::kSpin);
    const Task first = task(seq, 0, 2), second = task(seq + 1, 2, 3);
    ASSERT_TRUE(queue_->submit(first));
    ASSERT_TRUE(queue_->submit(second));
    ASSERT_TRUE(queue_->wait(seq - 1, seconds(10)));
    ASSERT_TRUE(queue_->wait(seq, seconds(10)));
    ASSERT_EQ(result_, check_hash(check_hash(0, 3), 3));
  }
}

TEST(ProgressBoard, WakesAWaiterThatSleeps) {
  ProgressBoard board;
  std::thread worker([&] { EXPECT_TRUE(board.wait(0, seconds(10))); });
  std::this_thread::sleep_for(milliseconds(3));
  board.publish_done(1);
  worker.join();
}

TEST_F(QueueTest, DropsWhatHasNotRunWhenItEnds) {
  for (int round = 0; round < 50; ++round) {
    std::vector<Task> tasks;
    for (TaskSeq seq = 1; seq <= 4; ++seq) tasks.push_back(task(seq, 0, 2));
    auto queue = open();
    for (const Task& t : tasks) ASSERT_TRUE(queue->submit(t));
    queue.reset();
  }
}

TEST_F(QueueTest, WaitsForEver) {
  const Task first = task(1, 0, 2);
  ASSERT_TRUE(queue_->submit(first));
  EXPECT_TRUE(queue_->wait(0, Duration::max()));
}

TEST_F(QueueTest, RefusesConfigurationsThatCannotRun) {
  EXPECT_FALSE(device_->open({.name = "none", .threads = 0}));
  EXPECT_FALSE(device_->open({.name = "none", .threads = 1'000'000}));
  EXPECT_FALSE(device_->open({.name = "none", .threads = 1, .max_tasks = 0}));
}

}  // namespace
}  // namespace volvox::cpu
