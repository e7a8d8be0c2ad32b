#include "gpu/driver/random_fill.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gpu/kernels/half.h"

namespace volvox::gpu {
namespace {

constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;  // elements on their way up

// A generator good enough for bits that nobody predicts.
float next_value(std::uint32_t& state) {
  state = state * 1664525U + 1013904223U;
  return static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
}

void write(std::byte* to, float value, ElementType type) {
  if (type == ElementType::kF32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const std::uint16_t half = type == ElementType::kBf16 ? to_bfloat16(value) : to_float16(value);
  std::memcpy(to, &half, sizeof half);
}

}  // namespace

Status fill_random(Driver& driver, StreamId stream, DeviceAddress to, std::uint64_t elements,
                   ElementType type, std::uint32_t seed) {
  const std::uint64_t size = element_bytes(type);
  std::vector<std::byte> part(std::min(elements, kAtOnce) * size);
  std::uint32_t state = seed;
  for (std::uint64_t first = 0; first < elements; first += kAtOnce) {
    const std::uint64_t count = std::min(kAtOnce, elements - first);
    for (std::uint64_t i = 0; i < count; ++i) write(part.data() + i * size, next_value(state), type);
    const auto bytes = std::span<const std::byte>(part).first(count * size);
    if (Status ok = upload(driver, stream, to + first * size, bytes); !ok) return ok;
  }
  return {};
}

}  // namespace volvox::gpu
