#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/error.h"
#include "device/device.h"

namespace volvox {

// On a device whose memory is the host's an address is a pointer. (Devices take it as a number.)
inline DeviceAddress address_of(const void* p) {
  return static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(p));
}
inline std::byte* at_address(DeviceAddress address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));  // NOLINT(performance-no-int*)
}

// Memory that is not written yet, 64-byte aligned. Empty when memory is short.
std::shared_ptr<std::byte[]> host_bytes(std::size_t size_bytes);

// Inputs that are read in place: landed at once. The pages keep the blocks' owners.
std::unique_ptr<InputPages> host_pages(std::span<const InputBlock> blocks);

// Results that are written in place, 64-byte aligned, and hold anything until then: of a request that ended
// well each row that is answered has been written. OVERLOADED when memory is short.
Result<ResultBlock> host_results(std::size_t size_bytes);

}  // namespace volvox
