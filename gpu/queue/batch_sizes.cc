#include "gpu/queue/batch_sizes.h"

#include <algorithm>

namespace volvox::gpu {

std::vector<std::uint32_t> batch_sizes(std::uint32_t largest) {
  std::vector<std::uint32_t> sizes;
  for (std::uint64_t size = 1; size < largest; size *= 2) {
    sizes.push_back(static_cast<std::uint32_t>(size));
    const std::uint64_t between = size + size / 2;
    if (size >= 64 && between < largest) sizes.push_back(static_cast<std::uint32_t>(between));
  }
  sizes.push_back(std::max(largest, 1U));
  return sizes;
}

std::vector<std::uint32_t> edge_sizes(std::uint32_t largest) {
  std::vector<std::uint32_t> sizes;
  for (std::uint64_t size = 64; size < largest; size *= 4) sizes.push_back(static_cast<std::uint32_t>(size));
  sizes.push_back(std::max(largest, 1U));
  return sizes;
}

std::uint32_t size_for(std::span<const std::uint32_t> sizes, std::uint32_t wanted) {
  const auto it = std::lower_bound(sizes.begin(), sizes.end(), wanted);
  return it == sizes.end() ? 0 : *it;
}

}  // namespace volvox::gpu
