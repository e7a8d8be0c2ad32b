#include "device/timed_device.h"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace volvox
