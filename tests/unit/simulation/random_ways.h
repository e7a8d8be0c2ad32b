#pragma once

#include <cstdint>
#include <vector>

#include "shapes/random.h"
#include "tests/unit/simulation/ways.h"

namespace volvox {

template <class T>
const T& one_of(const std::vector<T>& all, SeededRandom& chance) {
  return all[chance.below(all.size())];
}

inline Way random_way(SeededRandom& chance) {
  Way way;
  way.max_batch = one_of<std::uint32_t>({1, 2, 3, 8, 31, 64, 512}, chance);
  way.in_flight = one_of<std::uint32_t>({1, 2, 7, 50, 400}, chance);
  way.threads = 1 + static_cast<std::uint32_t>(chance.below(2));
  way.workers = 1 + static_cast<std::uint32_t>(chance.below(2));
  way.isa = one_of(cpu::supported_isas(), chance);
  way.eager = chance.below(2) == 0;
  way.fold = chance.below(2) == 0;
  way.padded = chance.below(4) == 0;
  way.fuse = chance.below(4) != 0;
  way.eager_window = one_of<std::uint32_t>({1, 3, 32}, chance);
  return way;
}

}  // namespace volvox
