#include <chrono>
#include <cstring>
#include <thread>

#include <gmock/gmock.h>

#include "cells/ir/check_hash.h"
#include "cells/library/check.h"
#include "cells/library/lstm.h"
#include "gpu/driver/errors.h"
#include "gpu/queue/payload_ring.h"
#include "tests/unit/device/hashing_cell.h"
#include "tests/unit/gpu/backends.h"
#include "tests/unit/gpu/random_cell.h"

// How the device uses its driver: what is made when, what travels, and what happens when something gives out.
namespace volvox::gpu {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class GpuDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { make(small_device()); }
  void make(const GpuOptions& options) {
    device_.reset();
    driver_ = std::make_shared<FakeDriver>();
    device_ = GpuDevice::make(driver_, options).value();
  }
  void load_check(std::uint32_t max_batch = 8) {
    const std::vector<StateKind> kinds = {{"state", {}, DType::kU64, 0}};
    ASSERT_TRUE(device_->add_pool(0, kinds, 200));
    ASSERT_TRUE(device_->compile(0, check_cell("check").value(), {}, {.max_batch = max_batch}));
  }
  std::unique_ptr<InputPages> stage(const std::vector<std::byte>& bytes) {
    const InputBlock block{bytes, nullptr};
    auto pages = device_->stage({&block, 1});
    EXPECT_TRUE(pages) << pages.error().message;
    return pages ? std::move(*pages) : nullptr;
  }
  static Task step(TaskSeq seq, DeviceAddress token, std::uint32_t slot = 2) {
    Task task;
    task.seq = seq;
    task.rows = task.padded_rows = 1;
    task.bindings.emplace_back();
    task.bindings[0].gathers[0].base = slot;
    task.bindings[0].out_base = slot == 2 ? 3 : 2;
    task.bindings[0].pulls[0] = {token, 0};
    task.bindings[0].length = 1;
    return task;
  }
  static bool wait_failed(Queue& queue) {
    for (int i = 0; i < 1000 && queue.progress().first_failed == 0; ++i) {
      queue.wait(queue.progress().done, std::chrono::milliseconds(10));
    }
    return queue.progress().first_failed != 0;
  }

  std::shared_ptr<FakeDriver> driver_;
  std::unique_ptr<Device> device_;
};

TEST_F(GpuDeviceTest, CapturesAGraphForEachSizeAndFreesThemWithTheQueue) {
  load_check(100);  // 1 2 4 8 16 32 64 96 100
  EXPECT_EQ(driver_->live_graphs(), 0U) << "those of the load's own queue are gone";
  auto one = device_->open({.name = "one"}).value();
  EXPECT_EQ(driver_->live_graphs(), 9U);
  auto two = device_->open({.name = "two"}).value();
  EXPECT_EQ(driver_->live_graphs(), 18U);
  ASSERT_TRUE(device_->compile(1, check_cell("again").value(), {}, {.max_batch = 1}));
  EXPECT_EQ(driver_->live_graphs(), 20U) << "open queues learn new types at load";
  device_->remove_type(1);
  EXPECT_EQ(driver_->live_graphs(), 18U);
  one.reset();
  two.reset();
  EXPECT_EQ(driver_->live_graphs(), 0U);
}

TEST_F(GpuDeviceTest, TakesAsManyEdgesAsTheTypeMayHave) {
  const std::vector<StateKind> kinds = {{"state", {}, DType::kU64, 0}};
  ASSERT_TRUE(device_->add_pool(0, kinds, 200));
  const Cell hashing = hashing_cell();
  const auto greedy = device_->compile(0, hashing, {}, {.max_batch = 2, .max_edges = kMostEdges + 1});
  ASSERT_FALSE(greedy);
  EXPECT_THAT(greedy.error().message, HasSubstr("max_edges must be at most"));
  ASSERT_TRUE(device_->compile(0, hashing, {}, {.max_batch = 2, .max_edges = 100}));
  const std::vector<std::byte> token(4);
  const auto pages = stage(token);
  const auto reads = [&](TaskSeq seq, std::uint32_t edges) {
    Task task = step(seq, pages->addresses()[0]);
    task.edges.assign(edges, kInitialSlot);
    task.bindings[0].ragged = {0, edges, true};
    return task;
  };
  const Task most = reads(1, 100), more = reads(2, 101);
  auto queue = device_->open({.name = "test"}).value();
  ASSERT_TRUE(queue->submit(most));
  ASSERT_TRUE(queue->wait(0, seconds(10)));
  EXPECT_EQ(queue->progress().done, 1U) << queue->progress().error;
  ASSERT_TRUE(queue->submit(more));
  ASSERT_TRUE(wait_failed(*queue));
  EXPECT_THAT(queue->progress().error, HasSubstr("more edges than its type may"));
}

TEST_F(GpuDeviceTest, AllocatesNothingWhileServing) {
  load_check();
  auto queue = device_->open({.name = "test"}).value();
  const std::size_t before = driver_->live_allocations();
  const std::uint64_t launched = driver_->graph_launches();
  const auto pages = stage(std::vector<std::byte>(4));
  const auto results = device_->results(64);
  for (TaskSeq seq = 1; seq <= 500; ++seq) {
    const Task task = step(seq, pages->addresses()[0], 2 + seq % 2);
    ASSERT_TRUE(queue->submit(task));
    ASSERT_TRUE(queue->wait(seq - 1, seconds(20)));
  }
  EXPECT_EQ(driver_->live_allocations(), before);
  EXPECT_EQ(driver_->graph_launches() - launched, 500U) << "one graph a task";
}

TEST_F(GpuDeviceTest, FreesWhatIsRemoved) {
  auto queue = device_->open({.name = "test"}).value();
  const std::size_t before = driver_->live_allocations();
  load_check();
  EXPECT_GT(driver_->live_allocations(), before);
  device_->remove_type(0);
  device_->remove_pool(0);
  EXPECT_EQ(driver_->live_allocations(), before);
  load_check();
  const auto pages = stage(std::vector<std::byte>(4));
  const Task task = step(1, pages->addresses()[0]);
  ASSERT_TRUE(queue->submit(task));
  EXPECT_TRUE(queue->wait(0, seconds(20))) << "the numbers may be used again";
}

TEST_F(GpuDeviceTest, GivesEverythingBack) {
  load_check();
  {
    auto queue = device_->open({.name = "test"}).value();
    const auto pages = stage(std::vector<std::byte>(4));
  }
  device_.reset();
  EXPECT_EQ(driver_->live_allocations(), 0U);
}

TEST_F(GpuDeviceTest, InputsTravelOnce) {
  const std::size_t before = driver_->copies().size();
  std::vector<std::unique_ptr<InputPages>> pages;
  for (int i = 0; i < 16; ++i) pages.push_back(stage(std::vector<std::byte>(4096)));
  for (const auto& page : pages) {
    while (!page->landed()) std::this_thread::yield();
  }
  const auto copies = driver_->copies();
  std::size_t sum = 0;
  for (std::size_t i = before; i < copies.size(); ++i) sum += copies[i];
  EXPECT_LE(copies.size() - before, 16U);
  EXPECT_EQ(sum, 16 * 4096U);
}

TEST_F(GpuDeviceTest, InputsLandWhenTheirCopyIsMade) {
  driver_->hold(true);
  const auto pages = stage(std::vector<std::byte>(100));
  std::this_thread::sleep_for(kUploadPatience);
  EXPECT_FALSE(pages->landed()) << "under way";
  driver_->hold(false);
  EXPECT_TRUE(pages->landed());
}

TEST_F(GpuDeviceTest, TasksWaitForInputsThatHaveNotLanded) {
  load_check();
  auto queue = device_->open({.name = "test"}).value();
  driver_->hold(true);
  std::vector<std::byte> token(4);
  token[0] = std::byte{9};
  const auto pages = stage(token);
  const auto results = device_->results(8).value();
  Task task = step(1, pages->addresses()[0]);
  task.bindings[0].gathers[0].base = kInitialSlot;
  task.emits = {{0, 0, results.address}};
  ASSERT_TRUE(queue->submit(task));
  EXPECT_FALSE(queue->wait(0, std::chrono::milliseconds(5)));
  driver_->hold(false);  // the youngest streams run first: without an event the task would read zeros
  ASSERT_TRUE(queue->wait(0, seconds(20)));
  std::uint64_t got = 0;
  std::memcpy(&got, results.host.get(), sizeof got);
  EXPECT_EQ(got, check_hash(0, 9));
}

TEST_F(GpuDeviceTest, FullInputMemoryIsBackPressure) {
  std::vector<std::unique_ptr<InputPages>> pages;
  const std::vector<std::byte> quarter(1 << 18);
  for (int i = 0; i < 4; ++i) pages.push_back(stage(quarter));
  const InputBlock block{quarter, nullptr};
  auto refused = device_->stage({&block, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  EXPECT_THAT(refused.error().message, HasSubstr("device.input_mib"));
  pages.pop_back();
  EXPECT_TRUE(device_->stage({&block, 1})) << "there is room again";
  const std::vector<std::byte> all((1 << 20) + 1);
  const InputBlock too_large{all, nullptr};
  EXPECT_EQ(device_->stage({&too_large, 1}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(GpuDeviceTest, PagesReleasedOnTheirWayAreNotGivenAgain) {
  driver_->hold(true);
  const std::vector<std::byte> all(1 << 20);
  const InputBlock block{all, nullptr};
  device_->stage({&block, 1}).value().reset();
  EXPECT_FALSE(device_->stage({&block, 1})) << "the copy still reads them";
  driver_->hold(false);
  EXPECT_TRUE(device_->stage({&block, 1}));
}

TEST_F(GpuDeviceTest, FullResultMemoryIsBackPressure) {
  auto most = device_->results((1 << 20) - 64);
  ASSERT_TRUE(most);
  EXPECT_TRUE(device_->results(64));
  const auto refused = device_->results(128);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(device_->results(1 << 21).error().code, ErrorCode::kInvalidArgument);
  *most = {};
  EXPECT_TRUE(device_->results(128));
}

TEST_F(GpuDeviceTest, TooLittleMemoryAtLoadIsSaid) {
  driver_->limit_memory(0);
  const StateKind kind{.name = "h", .shape = {256}};
  auto refused = device_->add_pool(0, {&kind, 1}, 1000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  EXPECT_THAT(refused.error().message, HasSubstr("device.state_mib"));
}

TEST_F(GpuDeviceTest, RefusesAPrecisionThatTheGpuHasNot) {
  driver_->set_capability(7);
  auto refused = GpuDevice::make(driver_, small_device({.precision = Precision::kBfloat16}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("bfloat16"));
}

TEST_F(GpuDeviceTest, ABrokenGpuFailsTheQueueAndSaysSo) {
  load_check();
  auto queue = device_->open({.name = "test"}).value();
  const auto pages = stage(std::vector<std::byte>(4));
  driver_->hold(true);
  const Task first = step(1, pages->addresses()[0]);
  ASSERT_TRUE(queue->submit(first));
  driver_->break_down(700);
  ASSERT_TRUE(wait_failed(*queue));
  EXPECT_EQ(queue->progress().first_failed, 1U);
  EXPECT_THAT(queue->progress().error, HasSubstr("restart the server"));
  const Task second = step(2, pages->addresses()[0]);
  EXPECT_EQ(queue->submit(second).error().code, ErrorCode::kUnavailable);
  auto fresh = device_->open({.name = "again"});
  ASSERT_FALSE(fresh);
  EXPECT_EQ(fresh.error().code, ErrorCode::kUnavailable);
}

TEST_F(GpuDeviceTest, ATaskThatNoRingHoldsIsRefusedAtLoad) {
  const Cell cell = check_cell("check").value();
  ASSERT_TRUE(device_->add_pool(0, cell.states, 100));
  const auto compiled = device_->compile(0, cell, {}, {.max_batch = 65'536});
  ASSERT_FALSE(compiled);
  EXPECT_THAT(compiled.error().message, HasSubstr("ring of task descriptors"));
}

// Nobody waits for a copy that will never be made: the request runs, and its queue finds out.
TEST_F(GpuDeviceTest, WhatWasStagedOnAGpuThatBreaksCountsAsLanded) {
  load_check();
  auto queue = device_->open({.name = "test"}).value();
  driver_->hold(true);
  const auto pages = stage(std::vector<std::byte>(4));
  EXPECT_FALSE(pages->landed());
  driver_->break_down(700);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!pages->landed() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  ASSERT_TRUE(pages->landed());
  const Task task = step(1, pages->addresses()[0]);
  ASSERT_TRUE(queue->submit(task));
  EXPECT_TRUE(wait_failed(*queue));
}

TEST_F(GpuDeviceTest, ASlotThatIsNotThereFailsItsTaskAndTouchesNothing) {
  load_check();
  for (const bool reads : {true, false}) {
    auto queue = device_->open({.name = "test"}).value();
    const auto pages = stage(std::vector<std::byte>(4));
    const Task good = step(1, pages->addresses()[0]);
    Task bad = step(2, pages->addresses()[0]);
    (reads ? bad.bindings[0].gathers[0].base : bad.bindings[0].out_base) = 200;
    ASSERT_TRUE(queue->submit(good));
    ASSERT_TRUE(queue->submit(bad));
    ASSERT_TRUE(wait_failed(*queue));
    EXPECT_EQ(queue->progress().first_failed, 2U);
    EXPECT_EQ(queue->progress().done, 1U);
    EXPECT_THAT(queue->progress().error, HasSubstr("a slot that is not there"));
  }
}

TEST_F(GpuDeviceTest, ATaskThatCannotRunFailsAfterTheOthers) {
  load_check();
  auto queue = device_->open({.name = "test"}).value();
  const auto pages = stage(std::vector<std::byte>(4));
  const Task good = step(1, pages->addresses()[0]);
  Task large = step(2, pages->addresses()[0]);
  large.rows = large.padded_rows = large.bindings[0].span = 9;
  ASSERT_TRUE(queue->submit(good));
  ASSERT_TRUE(queue->submit(large));
  ASSERT_TRUE(wait_failed(*queue));
  EXPECT_EQ(queue->progress().first_failed, 2U);
  EXPECT_EQ(queue->progress().done, 1U);
}

// The device finds out about one task, and the host about the next.
TEST_F(GpuDeviceTest, OfTwoTasksThatFailTheFirstOneIsBlamed) {
  load_check();
  auto queue = device_->open({.name = "test"}).value();
  const auto pages = stage(std::vector<std::byte>(4));
  Task bad = step(1, pages->addresses()[0]), large = step(2, pages->addresses()[0]);
  bad.bindings[0].out_base = 200;
  large.rows = large.padded_rows = large.bindings[0].span = 9;
  driver_->hold(true);
  ASSERT_TRUE(queue->submit(bad));
  ASSERT_TRUE(queue->submit(large));
  driver_->hold(false);
  ASSERT_TRUE(wait_failed(*queue));
  EXPECT_EQ(queue->progress().first_failed, 1U);
  EXPECT_THAT(queue->progress().error, HasSubstr("task 1: a row names a slot that is not there"));
}

TEST_F(GpuDeviceTest, ALaunchThatFailsInACaptureLeavesNoGraph) {
  load_check();
  driver_->fail_captured_launch();
  EXPECT_FALSE(device_->open({.name = "test"}));
  EXPECT_EQ(driver_->live_graphs(), 0U);
  EXPECT_TRUE(device_->open({.name = "again"}));
}

Weights small_lstm_weights() {
  return random_weights()
      .add("lstm.embedding", {kVocabulary, 8})
      .add("lstm.weight_ih", {32, 8})
      .add("lstm.weight_hh", {32, 8})
      .add("lstm.bias", {32})
      .weights();
}

TEST_F(GpuDeviceTest, ACellThatCannotBeLoadedLeavesNothingInOpenQueues) {
  const Weights weights = small_lstm_weights();
  const Cell cell = lstm_cell("lstm", {8, 8}, &weights).value();
  driver_->compile_with([](const StageSource& source) {
    return std::vector<FakeDriver::Stage>(source.stages,
                                          [](const PointwiseCall&, const StageThread&, std::uint32_t) {});
  });
  ASSERT_TRUE(device_->add_pool(0, cell.states, 10));
  const auto first = device_->open({.name = "first"}), second = device_->open({.name = "second"});
  ASSERT_TRUE(first && second);
  driver_->fail_compiling();
  EXPECT_EQ(device_->compile(0, cell, weights, {.max_batch = 4}).error().code, ErrorCode::kInternal);
  unsigned failures = 0;
  for (unsigned after = 0;; ++after) {
    driver_->fail_captured_launch(after);
    if (device_->compile(0, cell, weights, {.max_batch = 4})) break;
    ++failures;
    EXPECT_EQ(driver_->live_graphs(), 0U) << after;
    EXPECT_EQ(driver_->live_modules(), 0U) << after;
  }
  EXPECT_GT(failures, 2U * 3) << "a launch at least, of three sizes, for each of two queues";
  EXPECT_EQ(driver_->live_modules(), 1U);
  device_->remove_type(0);
  EXPECT_EQ(driver_->live_graphs(), 0U);
  EXPECT_EQ(driver_->live_modules(), 0U);
}

TEST_F(GpuDeviceTest, PlansEachProductOncePerSize) {
  const Weights weights = small_lstm_weights();
  const Cell cell = lstm_cell("lstm", {8, 8}, &weights).value();
  ASSERT_TRUE(device_->add_pool(0, cell.states, 10));
  const auto compiled = device_->compile(0, cell, weights, {.max_batch = 16});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(driver_->products_planned(), 5U) << "gates and operands are one product; 1 2 4 8 16";
  EXPECT_EQ(driver_->planned_on_zeros(), 0U);
  EXPECT_EQ(compiled->sizes, (std::vector<std::uint32_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(compiled->costs.size(), 5U);
  EXPECT_EQ(compiled->flops_per_row, 2.0 * 16 * 32);
  EXPECT_EQ(compiled->kernel, "generic float32");
}

TEST(FindDevices, SaysWhyThereIsNone) {
  const auto found = find_devices();
  if (found) GTEST_SKIP() << "there is a GPU: " << found->front().name;
  EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(found.error().message, HasSubstr("--device cpu"));
  EXPECT_FALSE(open_driver(0));
}

}  // namespace
}  // namespace volvox::gpu
