#pragma once

// What every device must do, whatever it is made of. Instantiate with
//   INSTANTIATE_TEST_SUITE_P(Fake, DeviceConformance, ::testing::Values(DeviceUnderTest{…}), device_name);
// and link the bodies with conformance.cc. A device that cannot be made here is skipped, with the reason.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cells/ir/cell.h"
#include "device/device.h"

namespace volvox {

struct DeviceUnderTest {
  std::string name;
  std::function<Result<std::unique_ptr<Device>>()> make;
  bool computes_products = true;
};

// What the check cell answers to a chain of tokens.
std::uint64_t hash_of(const std::vector<std::int32_t>& tokens);

// Step `step` of the check cell's cohort.
Task cohort(TaskSeq seq, std::uint64_t step, std::uint32_t rows);

inline std::string device_name(const ::testing::TestParamInfo<DeviceUnderTest>& info) {
  return info.param.name;
}

// A device with one pool of 64-bit states (0) and the check cell as type 0, maximum batch 8.
class DeviceConformance : public ::testing::TestWithParam<DeviceUnderTest> {
 protected:
  void SetUp() override;
  // Submits, and waits until the task is done.
  void run(Queue& queue, const Task& task);
  void wait_until(Queue& queue, TaskSeq done);
  std::unique_ptr<Queue> open(const QueueConfig& config = {});
  // Bytes that live on the device until the test ends.
  template <class T>
  DeviceAddress stage(const std::vector<T>& values) {
    return stage_bytes({reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)});
  }
  // A block of `count` results of type T, read back by read<T>().
  template <class T>
  DeviceAddress results(std::size_t count) {
    return result_block(count * sizeof(T));
  }
  template <class T>
  std::vector<T> read(DeviceAddress address, std::size_t count) {
    std::vector<T> values(count);
    copy_results(address, values.data(), count * sizeof(T));
    return values;
  }
  // A lane of the check cell: slots base and base + 1, tokens at `tokens`; step 0 at cohort step `start`.
  static RowBinding lane(std::uint32_t base, DeviceAddress tokens, std::uint64_t start, std::uint32_t length);

  std::unique_ptr<Device> device_;

 private:
  DeviceAddress stage_bytes(std::span<const std::byte> bytes);
  DeviceAddress result_block(std::size_t size_bytes);
  void copy_results(DeviceAddress address, void* to, std::size_t size_bytes);

  std::vector<std::unique_ptr<InputPages>> pages_;
  std::vector<ResultBlock> blocks_;
};

}  // namespace volvox
