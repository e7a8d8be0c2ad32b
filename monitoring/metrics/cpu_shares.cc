#include "monitoring/metrics/cpu_shares.h"

#include <algorithm>

namespace volvox {

// What a device that misses an update has spent in kernels is not known, and would be taken for the rest: the
// rest waits until the next one. A device that misses that, too, is gone.
void CpuShares::update(std::span<const EngineSnapshot> engines, double process_seconds) {
  for (auto& [name, device] : devices_) ++device.missed;
  for (const EngineSnapshot& engine : engines) {
    Device& device = devices_[engine.device];
    if (engine.cpu_kernel_seconds < device.now) device.before += device.now;
    device.now = engine.cpu_kernel_seconds;
    device.missed = 0;
  }
  inside_ = 0;
  bool known = true;
  for (const auto& [name, device] : devices_) {
    inside_ += device.before + device.now;
    known = known && device.missed != 1;
  }
  if (known) outside_ = std::max(outside_, process_seconds - inside_);
}

}  // namespace volvox
