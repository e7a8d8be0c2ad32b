#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace volvox {

// Whether the device can be sent work, for /readyz and for the doors: told by the scheduler and the
// supervisor, asked by anybody. Any thread.
class DeviceHealth {
 public:
  explicit DeviceHealth(std::uint32_t queues) : queues_(queues) {}

  void set_stuck(std::uint32_t queues) { stuck_ = queues; }
  void set_restarting(bool restarting) { restarting_ = restarting; }

  bool answers() const { return stuck_ < queues_; }
  // What is wrong, in words; empty: nothing.
  std::string trouble() const {
    if (restarting_) return "the device is being restarted";
    const std::uint32_t stuck = stuck_;
    if (stuck == 0) return {};
    return std::to_string(stuck) + " of " + std::to_string(queues_) +
           " queues of the device hang: a task takes longer than device.task_timeout_ms";
  }

 private:
  const std::uint32_t queues_;
  std::atomic<std::uint32_t> stuck_{0};
  std::atomic<bool> restarting_{false};
};

}  // namespace volvox
