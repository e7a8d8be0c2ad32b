#include "device/device.h"

namespace volvox {

std::size_t state_bytes(std::span<const StateKind> kinds) {
  std::size_t total = 0;
  for (const StateKind& kind : kinds) {
    total += static_cast<std::size_t>(elements(kind.shape)) * size_bytes(kind.dtype);
  }
  return total;
}

Status Device::read_slot(PoolId, std::uint32_t, std::span<std::byte>) {
  return fail(ErrorCode::kUnavailable, "this device cannot copy states to the host");
}

Status Device::write_slot(PoolId, std::uint32_t, std::span<const std::byte>) {
  return fail(ErrorCode::kUnavailable, "this device cannot copy states from the host");
}

}  // namespace volvox
