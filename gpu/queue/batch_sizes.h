#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace volvox::gpu {

// A graph runs one number of rows; a task of another number is padded to the next. Few sizes waste rows, many
// cost load time and memory.

// 1, 2, 4 … 64, 96, 128, 192 … up to and with `largest`: at most a third of a large task is padding.
std::vector<std::uint32_t> batch_sizes(std::uint32_t largest);
// 64, 256, 1024 … up to and with `largest`: for the edges of ragged cells, where padding is cheap.
std::vector<std::uint32_t> edge_sizes(std::uint32_t largest);
// The smallest of ascending `sizes` that holds `wanted`; 0: none does.
std::uint32_t size_for(std::span<const std::uint32_t> sizes, std::uint32_t wanted);

}  // namespace volvox::gpu
