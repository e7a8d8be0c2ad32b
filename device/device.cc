#include "device/device.h"

namespace volvox {

std::size_t state_bytes(std::span<const StateKind> kinds) {
  std::size_t total = 0;
  for (const StateKind& kind : kinds) {
    total += static_cast<std::size_t>(elements(kind.shape)) * size_bytes(kind.dtype);
  }
  return total;
}

}  // namespace volvox
