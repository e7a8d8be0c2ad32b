#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/ir/weights.h"
#include "device/device.h"

namespace volvox::bench {

struct LstmShape {
  std::uint32_t input = 0, hidden = 0, batch = 0;
  double flops() const { return 2.0 * (input + hidden) * 4 * hidden * batch; }
};

// Steps of a whole LSTM cell (embedding, both products, update) on a device, as a worker runs them: a
// cohort of `batch` rows that stays as it is, task after task.
class LstmSteps {
 public:
  // `threads`: of the queue, on a CPU.
  static Result<std::unique_ptr<LstmSteps>> make(const LstmShape& shape, std::unique_ptr<Device> device,
                                                 std::uint32_t threads = 1);
  const std::string& kernel() const { return kernel_; }  // what the device chose

  struct Time {
    double kernel_us = 0;  // inside the kernel, by the device's own clock
    double task_us = 0;    // from task to task: the queue and its wake-ups included
  };
  // Means of a step over about `seconds`. Fails when the device does.
  Result<Time> measure(double seconds);

 private:
  static constexpr std::uint32_t kAhead = 4;  // tasks in flight

  Status bind(const LstmShape& shape);
  void submit();

  std::string kernel_;
  Weights weights_;  // that the device reads
  std::unique_ptr<Device> device_;
  std::unique_ptr<InputPages> tokens_;
  std::vector<std::unique_ptr<Task>> tasks_;  // used in turn; before the queue, which reads them
  std::unique_ptr<Queue> queue_;
  TaskSeq submitted_ = 0;
  bool failed_ = false;
};

}  // namespace volvox::bench
