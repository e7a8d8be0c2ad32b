#include "tests/unit/device/conformance.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include <gmock/gmock.h>

#include "cells/ir/cell_builder.h"
#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "cells/library/lstm.h"

namespace volvox {

using ::testing::ElementsAre;

namespace {

constexpr PoolId kPool = 0, kRealPool = 1;
constexpr CellTypeId kCheck = 0, kSum = 1;
constexpr Duration kPatience = std::chrono::seconds(20);

Task listed(TaskSeq seq, CellTypeId type, std::vector<RowBinding> bindings) {
  Task task;
  task.seq = seq;
  task.type = type;
  task.bindings = std::move(bindings);
  for (const RowBinding& b : task.bindings) task.rows += b.span;
  task.padded_rows = task.rows;
  return task;
}

// v' = v + Σ children: pulls v, gathers all, scatters and pushes.
Cell sum_cell() {
  CellBuilder b("sum");
  b.state({"v", {3}, DType::kF32, 0.0});
  const ValueId v = b.add(b.pull("x", DType::kF32, {3}), b.segment_sum(b.gather_all("v")));
  b.scatter("v", v);
  b.push("v", v);
  return b.build().value();
}

}  // namespace

std::uint64_t hash_of(const std::vector<std::int32_t>& tokens) {
  std::uint64_t state = 0;
  for (std::int32_t token : tokens) state = check_hash(state, static_cast<std::uint64_t>(token));
  return state;
}

Task cohort(TaskSeq seq, std::uint64_t step, std::uint32_t rows) {
  Task task;
  task.seq = seq;
  task.type = kCheck;
  task.form = Task::Form::kCohort;
  task.step = step;
  task.rows = task.padded_rows = rows;
  return task;
}

void DeviceConformance::SetUp() {
  auto device = GetParam().make();
  if (!device) GTEST_SKIP() << device.error().message;
  device_ = std::move(*device);
  const std::vector<StateKind> kinds = {{"state", {}, DType::kU64, 0}};
  ASSERT_TRUE(device_->add_pool(kPool, kinds, 20));
  auto compiled = device_->compile(kCheck, check_cell("check").value(), Weights{}, {.max_batch = 8});
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_FALSE(compiled->costs.empty());
}

std::unique_ptr<Queue> DeviceConformance::open(const QueueConfig& config) {
  auto queue = device_->open(config);
  EXPECT_TRUE(queue) << queue.error().message;
  return queue ? std::move(*queue) : nullptr;
}

void DeviceConformance::wait_until(Queue& queue, TaskSeq done) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (queue.progress().done < done && std::chrono::steady_clock::now() < until) {
    ASSERT_EQ(queue.progress().first_failed, 0U) << queue.progress().error;
    queue.wait(queue.progress().done, std::chrono::milliseconds(100));
  }
  ASSERT_GE(queue.progress().done, done);
}

void DeviceConformance::run(Queue& queue, const Task& task) {
  const Status ok = queue.submit(task);
  ASSERT_TRUE(ok) << ok.error().message;
  wait_until(queue, task.seq);
}

DeviceAddress DeviceConformance::stage_bytes(std::span<const std::byte> bytes) {
  std::shared_ptr<std::byte> memory(new (std::align_val_t{64}) std::byte[bytes.size() + 1],
                                    [](std::byte* p) { operator delete[](p, std::align_val_t{64}); });
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  const InputBlock block{{memory.get(), bytes.size()}, memory};
  auto pages = device_->stage({&block, 1});
  EXPECT_TRUE(pages);
  pages_.push_back(std::move(*pages));
  EXPECT_EQ(pages_.back()->addresses().size(), 1U);
  return pages_.back()->addresses()[0];
}

DeviceAddress DeviceConformance::result_block(std::size_t size_bytes) {
  auto block = device_->results(size_bytes);
  EXPECT_TRUE(block);
  // So that it is seen what tasks leave alone.
  std::memset(block->host.get(), 0, size_bytes);
  blocks_.push_back(std::move(*block));
  return blocks_.back().address;
}

void DeviceConformance::copy_results(DeviceAddress address, void* to, std::size_t size_bytes) {
  for (const ResultBlock& block : blocks_) {
    if (block.address <= address && address + size_bytes <= block.address + block.size_bytes) {
      std::memcpy(to, block.host.get() + (address - block.address), size_bytes);
      return;
    }
  }
  FAIL() << "no block of results holds this address";
}

RowBinding DeviceConformance::lane(std::uint32_t base, DeviceAddress tokens, std::uint64_t start,
                                   std::uint32_t length) {
  RowBinding b;
  b.gathers[0] = {base, 2, -1, 1, kInitialSlot};
  b.pulls[0] = {tokens, 4};
  b.out_base = base;
  b.out_ring = 2;
  b.length = length;
  b.start = start;
  return b;
}

TEST_P(DeviceConformance, StepsACohortWhoseRowsJoinAndLeave) {
  const std::vector<std::int32_t> a{5, 6, 7}, b{9, 9};
  auto queue = open();
  const DeviceAddress out = results<std::uint64_t>(2);
  Task first = cohort(1, 0, 1);
  first.bindings = {lane(2, stage(a), 0, 3)};
  first.changes = {{0, RowChange::kBind, 0}};
  Task second = cohort(2, 1, 2);  // b joins
  second.bindings = {lane(4, stage(b), 1, 2)};
  second.changes = {{1, RowChange::kBind, 0}};
  Task third = cohort(3, 2, 2);  // both end
  third.emits = {{0, 0, out}, {1, 0, out + 8}};
  ASSERT_TRUE(queue->submit(first));
  ASSERT_TRUE(queue->submit(second));
  run(*queue, third);
  EXPECT_THAT(read<std::uint64_t>(out, 2), ElementsAre(hash_of(a), hash_of(b)));
}

TEST_P(DeviceConformance, MovesTheLastRowIntoAGap) {
  const std::vector<std::int32_t> a{1}, b{2, 3, 4};
  auto queue = open();
  const DeviceAddress out = results<std::uint64_t>(2);
  Task first = cohort(1, 0, 2);
  first.bindings = {lane(2, stage(a), 0, 1), lane(4, stage(b), 0, 3)};
  first.changes = {{0, RowChange::kBind, 0}, {1, RowChange::kBind, 1}};
  first.emits = {{0, 0, out}};
  Task second = cohort(2, 1, 1);
  second.changes = {{0, 1, 0}};
  Task third = cohort(3, 2, 1);
  third.emits = {{0, 0, out + 8}};
  ASSERT_TRUE(queue->submit(first));
  ASSERT_TRUE(queue->submit(second));
  run(*queue, third);
  EXPECT_THAT(read<std::uint64_t>(out, 2), ElementsAre(hash_of(a), hash_of(b)));
}

TEST_P(DeviceConformance, PaddingRowsChangeNothing) {
  const std::vector<std::int32_t> a{5, 6};
  auto queue = open();
  const DeviceAddress out = results<std::uint64_t>(1);
  Task first = cohort(1, 0, 1);
  first.padded_rows = 4;
  first.bindings = {lane(2, stage(a), 0, 2)};
  first.changes = {{0, RowChange::kBind, 0}};
  run(*queue, first);
  Task second = cohort(2, 1, 1);
  second.padded_rows = 8;
  second.emits = {{0, 0, out}};
  run(*queue, second);
  EXPECT_THAT(read<std::uint64_t>(out, 1), ElementsAre(hash_of(a)));
}

TEST_P(DeviceConformance, StepsPastTheLengthReadZerosAndNoStateAndPushNothing) {
  const std::vector<std::int32_t> a{5, 77};
  auto queue = open();
  const DeviceAddress every = results<std::uint64_t>(3), out = results<std::uint64_t>(1);
  Task first = cohort(1, 0, 1);
  first.bindings = {lane(2, stage(a), 0, 1)};  // only the first token counts
  first.bindings[0].pushes[0] = {every, 8};
  first.changes = {{0, RowChange::kBind, 0}};
  run(*queue, first);
  Task second = cohort(2, 1, 1);
  second.emits = {{0, 0, out}};
  run(*queue, second);
  EXPECT_THAT(read<std::uint64_t>(out, 1), ElementsAre(hash_of({0})));
  EXPECT_THAT(read<std::uint64_t>(every, 3), ElementsAre(hash_of({5}), 0, 0));
}

TEST_P(DeviceConformance, PushesEveryStep) {
  const std::vector<std::int32_t> a{5, 6};
  auto queue = open();
  const DeviceAddress every = results<std::uint64_t>(2);
  Task first = cohort(1, 0, 1);
  first.bindings = {lane(2, stage(a), 0, 2)};
  first.bindings[0].pushes[0] = {every, 8};
  first.changes = {{0, RowChange::kBind, 0}};
  ASSERT_TRUE(queue->submit(first));
  run(*queue, cohort(2, 1, 1));
  EXPECT_THAT(read<std::uint64_t>(every, 2), ElementsAre(hash_of({5}), hash_of({5, 6})));
}

TEST_P(DeviceConformance, ListedRowsCoverSpansOfSteps) {
  const std::vector<std::int32_t> tokens{4, 5, 6, 7};
  auto queue = open();
  const DeviceAddress every = results<std::uint64_t>(4), out = results<std::uint64_t>(1);
  RowBinding window;  // reads the initial value at each step
  window.pulls[0] = {stage(tokens), 4};
  window.pushes[0] = {every, 8};
  window.out_base = 8;
  window.out_ring = 4;
  window.length = 4;
  window.start = 1;
  window.span = 3;
  RowBinding lone = lane(2, window.pulls[0].address, 0, 4);
  Task task = listed(1, kCheck, {window, lone});
  task.emits = {{1, 0, out}};
  run(*queue, task);
  EXPECT_THAT(read<std::uint64_t>(every, 4), ElementsAre(0, hash_of({5}), hash_of({6}), hash_of({7})));
  EXPECT_THAT(read<std::uint64_t>(out, 1), ElementsAre(hash_of({4})));
}

TEST_P(DeviceConformance, ReadsRaggedListsInTheirOrder) {
  const std::vector<StateKind> kinds = {{"v", {3}, DType::kF32, 0}};
  ASSERT_TRUE(device_->add_pool(kRealPool, kinds, 20));
  const auto compiled =
      device_->compile(kSum, sum_cell(), Weights{},
                       {.out_pool = kRealPool, .ragged_pool = kRealPool, .max_batch = 8, .max_edges = 64});
  ASSERT_TRUE(compiled) << compiled.error().message;
  auto queue = open();
  const DeviceAddress in = stage(std::vector<float>{1, 2, 3, 10, 20, 30, 100, 200, 300});
  const DeviceAddress out = results<float>(9);
  const auto row = [&](std::uint32_t number, std::uint32_t slot, RaggedSource ragged) {
    RowBinding b;
    b.pulls[0] = {in + number * 12, 0};
    b.pushes[0] = {out + number * 12, 0};
    b.out_base = slot;
    b.length = 1;
    b.ragged = ragged;
    return b;
  };
  const Task leaves = listed(1, kSum, {row(0, 5, {}), row(1, 6, {})});
  ASSERT_TRUE(queue->submit(leaves));
  Task parent = listed(2, kSum, {row(2, 7, {1, 2, true})});
  parent.edges = {99, 6, 5};
  run(*queue, parent);
  EXPECT_THAT(read<float>(out, 9), ElementsAre(1, 2, 3, 10, 20, 30, 111, 222, 333));
  Task direct = listed(3, kSum, {row(2, 8, {5, 2, false})});
  run(*queue, direct);
  EXPECT_THAT(read<float>(out + 24, 3), ElementsAre(111, 222, 333));
}

TEST_P(DeviceConformance, CopiesStateAfterATask) {
  const std::vector<std::int32_t> a{5, 6};
  auto queue = open();
  const DeviceAddress tokens = stage(a), out = results<std::uint64_t>(1);
  Task first = listed(1, kCheck, {lane(2, tokens, 0, 2)});
  ASSERT_TRUE(queue->submit(first));
  const std::vector<SlotCopy> copies = {{kPool, 2, 10}};
  ASSERT_TRUE(queue->copy_state(*device_, copies, 1));
  RowBinding next = lane(10, tokens, 1, 2);
  Task second = listed(2, kCheck, {next});
  second.emits = {{0, 0, out}};
  run(*queue, second);
  EXPECT_THAT(read<std::uint64_t>(out, 1), ElementsAre(hash_of(a)));
}

TEST_P(DeviceConformance, QueuesOfOneDeviceShareItsStates) {
  const std::vector<std::int32_t> a{5, 6};
  auto one = open(), two = open();
  const DeviceAddress tokens = stage(a), out = results<std::uint64_t>(1);
  const Task first = listed(1, kCheck, {lane(2, tokens, 0, 2)});
  run(*one, first);
  Task second = listed(1, kCheck, {lane(2, tokens, 1, 2)});
  second.emits = {{0, 0, out}};
  run(*two, second);
  EXPECT_THAT(read<std::uint64_t>(out, 1), ElementsAre(hash_of(a)));
}

TEST_P(DeviceConformance, WaitingForNothingTimesOut) {
  auto queue = open();
  EXPECT_FALSE(queue->wait(0, std::chrono::milliseconds(1)));
  EXPECT_EQ(queue->progress().done, 0U);
  EXPECT_EQ(queue->progress().first_failed, 0U);
}

// A queue that takes the place of one that failed goes on with its numbers.
TEST_P(DeviceConformance, NumbersMayBeginAnywhereAndGoOn) {
  auto queue = open();
  const DeviceAddress tokens = stage(std::vector<std::int32_t>{1, 2});
  const Task first = listed(41, kCheck, {lane(2, tokens, 0, 1)}),
             second = listed(42, kCheck, {lane(2, tokens, 1, 1)});
  ASSERT_TRUE(queue->submit(first));
  EXPECT_GE(queue->progress().done, 40U) << "nobody waits for what another queue did";
  EXPECT_TRUE(queue->submit(second)) << "whether the first is done or not";
  wait_until(*queue, 42);
  EXPECT_EQ(queue->progress().done, 42U);
}

TEST_P(DeviceConformance, RefusesMoreTasksThanAgreed) {
  QueueConfig config;
  config.max_tasks = 2;
  auto queue = open(config);
  const DeviceAddress tokens = stage(std::vector<std::int32_t>{1, 2, 3});
  std::vector<Task> tasks;
  for (TaskSeq seq = 1; seq <= 200; ++seq) tasks.push_back(listed(seq, kCheck, {lane(2, tokens, 0, 1)}));
  // A quick device may be done before the bound is met; then it must have taken all of them.
  std::size_t taken = 0;
  while (taken < tasks.size() && queue->submit(tasks[taken])) ++taken;
  EXPECT_GE(taken, 2U);
  if (taken < tasks.size()) {
    wait_until(*queue, taken);
    EXPECT_TRUE(queue->submit(tasks[taken])) << "there is room again, and nothing was lost";
    wait_until(*queue, taken + 1);
  }
}

TEST_P(DeviceConformance, AQueueMayGoWithTasksInIt) {
  const DeviceAddress tokens = stage(std::vector<std::int32_t>{1, 2, 3});
  const Task first = listed(1, kCheck, {lane(2, tokens, 0, 1)}),
             second = listed(2, kCheck, {lane(4, tokens, 0, 1)});
  auto queue = open();
  ASSERT_TRUE(queue->submit(first));
  ASSERT_TRUE(queue->submit(second));
  queue.reset();
  auto other = open();
  const Task again = listed(1, kCheck, {lane(2, tokens, 0, 1)});
  run(*other, again);
}

TEST_P(DeviceConformance, RefusesWhatItCannotCompile) {
  const std::vector<StateKind> kinds = {{"other", {}, DType::kU64, 0}};
  EXPECT_FALSE(device_->add_pool(kPool, kinds, 20)) << "the pool exists";
  EXPECT_FALSE(device_->add_pool(5, kinds, 1)) << "too few slots";
  const Cell check = check_cell("check").value();
  EXPECT_FALSE(device_->compile(7, check, Weights{}, {.out_pool = 9, .max_batch = 8})) << "no such pool";
  ASSERT_TRUE(device_->add_pool(6, kinds, 4));
  EXPECT_FALSE(device_->compile(7, check, Weights{}, {.out_pool = 6, .gather_pools = {6}, .max_batch = 8}))
      << "the pool has no such state";
  const Cell lstm = lstm_cell("lstm", {.input = 4, .hidden = 4}).value();
  EXPECT_FALSE(device_->compile(7, lstm, Weights{}, {.max_batch = 8})) << "the weights are missing";
}

TEST_P(DeviceConformance, TypesAndPoolsComeAndGoWhileAQueueRuns) {
  const std::vector<std::int32_t> a{5, 6};
  const DeviceAddress tokens = stage(a), out = results<std::uint64_t>(1);
  const std::vector<StateKind> kinds = {{"state", {}, DType::kU64, 0}};
  const Cell check = check_cell("check").value();
  auto queue = open();
  std::jthread loader([&] {
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(device_->add_pool(3, kinds, 20));
      ASSERT_TRUE(
          device_->compile(3, check, Weights{}, {.out_pool = 3, .gather_pools = {3}, .max_batch = 8}));
      device_->remove_type(3);
      device_->remove_pool(3);
      device_->remove_pool(3);  // is not there
    }
    ASSERT_TRUE(device_->add_pool(3, kinds, 20));
    ASSERT_TRUE(device_->compile(3, check, Weights{}, {.out_pool = 3, .gather_pools = {3}, .max_batch = 8}));
  });
  TaskSeq seq = 0;
  for (; seq < 50; ++seq) {
    const Task task = listed(seq + 1, kCheck, {lane(2, tokens, 0, 1)});
    run(*queue, task);
  }
  loader.join();
  const Task first = listed(seq + 1, 3, {lane(2, tokens, 0, 2)});
  run(*queue, first);
  Task second = listed(seq + 2, 3, {lane(2, tokens, 1, 2)});
  second.emits = {{0, 0, out}};
  run(*queue, second);
  EXPECT_THAT(read<std::uint64_t>(out, 1), ElementsAre(hash_of(a)));
}

TEST_P(DeviceConformance, ResultsAreAligned) {
  const auto block = device_->results(100);
  ASSERT_TRUE(block);
  EXPECT_GE(block->size_bytes, 100U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->host.get()) % 64, 0U);
}

}  // namespace volvox
