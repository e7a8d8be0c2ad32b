#pragma once

#include <cstdint>

namespace volvox::bench {

// How often this process has called operator new. Counted in volvox-bench only, which replaces it.
std::uint64_t allocations();

}  // namespace volvox::bench
