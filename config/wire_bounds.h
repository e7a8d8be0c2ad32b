#pragma once

#include <cstdint>

namespace volvox {

// What the settings of [wire] may be, for the configuration, which names them, and for the codec, which
// relies on them.
struct WireBounds {
  // A header carries at most four names and one error text beside its fixed part.
  static constexpr std::uint64_t least_header_bytes(std::uint64_t name_bytes) {
    return 1280 + 4 * name_bytes;
  }
  // A Cap'n Proto list or text counts its elements in 29 bits.
  static constexpr std::uint32_t kMostElements = (1U << 29) - 1;

  static constexpr std::uint32_t kMostHeaderBytes = 1U << 16;
  static constexpr std::uint32_t kMostNameBytes = 4096;
  static constexpr std::uint32_t kMostTensors = 1024;
  static constexpr std::uint32_t kMostRank = 8;
  static constexpr std::uint32_t kMostNodes = kMostElements - 1;  // and of edges
  static constexpr std::uint32_t kMostBundleParts = 1U << 16;
  static constexpr std::uint32_t kLeastNesting = 8, kMostNesting = 64;
};

}  // namespace volvox
