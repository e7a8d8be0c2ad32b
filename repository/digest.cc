#include "repository/digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/mixing.h"

namespace volvox {
namespace {

constexpr std::uint64_t kPrime = 0x9e3779b185ebca87ULL;

}  // namespace

// Four independent chains of FNV's "xor, then multiply" over words, so that multiplications overlap; a
// rotation brings high bits back down.
std::uint64_t digest_of(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::array<std::uint64_t, 4> lanes{};
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = scattered(seed + kPrime * (i + 1));
  std::array<std::uint64_t, 4> words{};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(words)) {
    const std::size_t left = bytes.size() - at;
    if (left < sizeof(words)) words = {};
    std::memcpy(words.data(), bytes.data() + at, std::min(left, sizeof(words)));
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = std::rotl((lanes[i] ^ words[i]) * kPrime, 29);
  }
  std::uint64_t result = scattered(seed ^ (bytes.size() * kPrime));
  for (std::uint64_t lane : lanes) result = scattered(result ^ lane) + kPrime;
  return result;
}

}  // namespace volvox
