#include "device/device.h"

#include "device/planes.h"

namespace volvox {

std::size_t state_bytes(std::span<const StateKind> kinds) {
  std::size_t total = 0;
  for (const StateKind& kind : kinds) {
    total += static_cast<std::size_t>(elements(kind.shape)) * size_bytes(kind.dtype);
  }
  return total;
}

std::uint64_t Device::slot_bytes(std::span<const StateKind> kinds) const {
  return Planes::slot_bytes(kinds);
}

}  // namespace volvox
