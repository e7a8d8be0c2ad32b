#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace volvox {

// Whether the device can be sent work, for /readyz and for the doors: told by the scheduler, the manager and
// the supervisor, asked by anybody. Any thread.
class DeviceHealth {
 public:
  explicit DeviceHealth(std::uint32_t queues) : queues_(queues) {}

  void set_stuck(std::uint32_t queues) { stuck_ = queues; }
  void set_copies_hang(bool hang) { copies_hang_ = hang; }
  void set_restarting(bool restarting) { restarting_ = restarting; }

  bool answers() const { return stuck_ < queues_ && !copies_hang_; }
  bool copies_hang() const { return copies_hang_; }  // no state can be had from it
  // What is wrong, in words; empty: nothing.
  std::string trouble() const {
    if (restarting_) return "the device is being restarted";
    const std::uint32_t stuck = stuck_;
    if (stuck == 0 && copies_hang_)
      return "the device hangs: a copy of a session's state takes longer than device.task_timeout_ms";
    if (stuck == 0) return {};
    return std::to_string(stuck) + " of " + std::to_string(queues_) +
           " queues of the device hang: a task takes longer than device.task_timeout_ms";
  }

 private:
  const std::uint32_t queues_;
  std::atomic<std::uint32_t> stuck_{0};
  std::atomic<bool> copies_hang_{false}, restarting_{false};
};

}  // namespace volvox
