#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/time.h"
#include "routing/device_choice.h"

namespace volvox {

// A DeviceChoice that the manager asks, and that a request leaves wherever it ends. Any thread.
class DeviceLoads {
 public:
  explicit DeviceLoads(std::uint32_t devices) : choice_(devices) {}

  std::optional<std::uint32_t> choose(const DeviceChoice::Usable& usable) const {
    const std::lock_guard lock(mutex_);
    return choice_.choose(usable);
  }
  std::vector<std::uint32_t> in_order(const DeviceChoice::Usable& usable) const {
    const std::lock_guard lock(mutex_);
    return choice_.in_order(usable);
  }
  bool worth_moving(std::uint32_t home, std::uint32_t other, Duration copy) const {
    const std::lock_guard lock(mutex_);
    return choice_.worth_moving(home, other, copy);
  }

 private:
  friend class DevicePlace;

  mutable std::mutex mutex_;
  DeviceChoice choice_;
};

// A request's place among those of a device; left by its destructor. Any thread.
class DevicePlace {
 public:
  DevicePlace(std::shared_ptr<DeviceLoads> loads, std::uint32_t device, Duration work)
      : loads_(std::move(loads)), device_(device), work_(work) {
    const std::lock_guard lock(loads_->mutex_);
    loads_->choice_.enter(device_, work_);
  }
  ~DevicePlace() {
    const std::lock_guard lock(loads_->mutex_);
    loads_->choice_.leave(device_, work_);
  }
  DevicePlace(const DevicePlace&) = delete;
  DevicePlace& operator=(const DevicePlace&) = delete;

  std::uint32_t device() const { return device_; }

 private:
  const std::shared_ptr<DeviceLoads> loads_;
  const std::uint32_t device_;
  const Duration work_;
};

}  // namespace volvox
