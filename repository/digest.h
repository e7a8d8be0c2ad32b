#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace volvox {

// A 64-bit hash of bytes, some gigabytes a second: tells model versions apart, and is no defence against
// anyone who makes collisions on purpose. `seed` chains several pieces. The same everywhere (little-endian
// machines).
std::uint64_t digest_of(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace volvox
