#include "device/timed_device.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cells/library/noop.h"
#include "tests/unit/device/conformance.h"

namespace volvox {
namespace {

Result<std::unique_ptr<Device>> make_timed() {
  return std::make_unique<TimedDevice>(TimedCost{.fixed_us = 100, .per_row_us = 1});
}

INSTANTIATE_TEST_SUITE_P(Timed, DeviceConformance,
                         ::testing::Values(DeviceUnderTest{"timed", make_timed, false}), device_name);

TEST(TimedDevice, SaysWhatATaskCosts) {
  TimedDevice device({.fixed_us = 100, .per_row_us = 2});
  const auto compiled = device.compile(0, noop_cell("noop").value(), Weights{}, {.max_batch = 64});
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(compiled->costs.size(), 2U);
  EXPECT_EQ(compiled->costs[0].us, 102);
  EXPECT_EQ(compiled->costs[1].rows, 64U);
  EXPECT_EQ(compiled->costs[1].us, 228);
}

TEST(TimedDevice, TasksTakeTheirTime) {
  TimedDevice device({.fixed_us = 3000, .per_row_us = 1000});
  ASSERT_TRUE(device.compile(0, noop_cell("noop").value(), Weights{}, {.max_batch = 4}));
  auto queue = device.open({}).value();
  Task tasks[2];
  for (TaskSeq i = 0; i < 2; ++i) {
    tasks[i].seq = i + 1;
    tasks[i].bindings.resize(2);
    tasks[i].rows = tasks[i].padded_rows = 2;
  }
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(queue->submit(tasks[0]));
  ASSERT_TRUE(queue->submit(tasks[1]));
  while (queue->progress().done < 2) queue->wait(queue->progress().done, std::chrono::seconds(1));
  // Never sooner than it costs; how much later is the machine's matter.
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(10));
  EXPECT_EQ(queue->progress().kernel_ns, 10'000'000U);
}

// A file that is there until remove(), or the end of the test.
class SomeFile {
 public:
  SomeFile() : path_(::testing::TempDir() + "volvox-hang-" + std::to_string(::getpid())) {
    std::ofstream(path_) << "";
  }
  ~SomeFile() { remove(); }

  const std::filesystem::path& path() const { return path_; }
  void remove() const { std::filesystem::remove(path_); }

 private:
  const std::filesystem::path path_;
};

constexpr PoolId kPool = 7;
constexpr std::uint32_t kSlot = 2;
using State = std::array<std::byte, 8>;

void add_state(TimedDevice& device, const State& state) {
  const std::vector<StateKind> kinds = {{"state", {}, DType::kU64, 0}};
  ASSERT_TRUE(device.add_pool(kPool, kinds, 4));
  ASSERT_TRUE(device.write_slot(kPool, kSlot, state)) << "what comes is taken, whether it hangs or not";
}

TEST(TimedDevice, GivesNoStateAwayWhileTheFileIsThere) {
  const SomeFile file;
  TimedDevice device({.fixed_us = 0, .per_row_us = 0}, file.path());
  const State state{std::byte{1}, std::byte{2}};
  ASSERT_NO_FATAL_FAILURE(add_state(device, state));
  State copy{};
  auto read = std::async(std::launch::async, [&] { return device.read_slot(kPool, kSlot, copy); });
  EXPECT_EQ(read.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  file.remove();
  EXPECT_TRUE(read.get());
  EXPECT_EQ(copy, state);
}

TEST(TimedDevice, RunsTasksWhileACopyHangs) {
  const SomeFile file;
  TimedDevice device({.fixed_us = 0, .per_row_us = 0}, file.path());
  ASSERT_NO_FATAL_FAILURE(add_state(device, {}));
  ASSERT_TRUE(device.compile(0, noop_cell("noop").value(), Weights{}, {.max_batch = 4}));
  State copy{};
  auto read = std::async(std::launch::async, [&] { return device.read_slot(kPool, kSlot, copy); });
  auto queue = device.open({}).value();
  Task task;
  task.seq = 1;
  task.bindings.resize(1);
  task.rows = task.padded_rows = 1;
  EXPECT_TRUE(queue->submit(task));
  EXPECT_TRUE(queue->wait(0, std::chrono::seconds(30)));
  EXPECT_EQ(read.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  file.remove();
  EXPECT_TRUE(read.get());
}

TEST(TimedDevice, WithoutTheFileAStateIsGivenAwayAtOnce) {
  const SomeFile file;
  file.remove();
  const State state{std::byte{3}};
  for (const std::filesystem::path& path : {file.path(), std::filesystem::path()}) {
    TimedDevice device({.fixed_us = 0, .per_row_us = 0}, path);
    ASSERT_NO_FATAL_FAILURE(add_state(device, state));
    State copy{};
    EXPECT_TRUE(device.read_slot(kPool, kSlot, copy));
    EXPECT_EQ(copy, state);
  }
}

}  // namespace
}  // namespace volvox
