#pragma once

#include <cstdint>

#include "gpu/driver/driver.h"

namespace volvox::gpu {

// A GPU multiplies zeros faster than numbers, by a seventh on an H200: whatever is timed must work on
// numbers. Fills `elements` of the type with values in [-1, 1), the same for the same seed, and waits. For
// loading.
Status fill_random(Driver& driver, StreamId stream, DeviceAddress to, std::uint64_t elements,
                   ElementType type, std::uint32_t seed);

}  // namespace volvox::gpu
