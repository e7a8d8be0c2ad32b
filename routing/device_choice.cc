#include "routing/device_choice.h"

#include <algorithm>

namespace volvox {

std::vector<std::uint32_t> DeviceChoice::in_order(const Usable& usable) const {
  std::vector<std::uint32_t> devices;
  for (std::uint32_t device = 0; device < loads_.size(); ++device) {
    if (usable(device)) devices.push_back(device);
  }
  std::stable_sort(devices.begin(), devices.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return loads_[a] < loads_[b]; });
  return devices;
}

std::optional<std::uint32_t> DeviceChoice::choose(const Usable& usable) const {
  std::optional<std::uint32_t> best;
  for (std::uint32_t device = 0; device < loads_.size(); ++device) {
    if (usable(device) && (!best || loads_[device] < loads_[*best])) best = device;
  }
  return best;
}

bool DeviceChoice::worth_moving(std::uint32_t home, std::uint32_t other, Duration copy) const {
  return loads_[home].work > loads_[other].work + copy;
}

void DeviceChoice::enter(std::uint32_t device, Duration work) {
  loads_[device].work += work;
  ++loads_[device].requests;
}

void DeviceChoice::leave(std::uint32_t device, Duration work) {
  loads_[device].work -= work;
  --loads_[device].requests;
}

}  // namespace volvox
