#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/structure.h"
#include "protocol/limits.h"

namespace volvox {

// Sizes within the limits, every index in range, every order as promised in base/structure.h: whatever
// passes can be unfolded by one pass over the arrays, without cycles.
Status check_structure(const Structure& structure, const WireLimits& limits);

// How many steps or nodes it has, about as many cells as a request unfolds into.
std::uint32_t nodes_in(const Structure& structure);

}  // namespace volvox
