#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace volvox::cpu {

// Measured peak of independent fused multiply-adds in registers, in GFLOP/s (an fma counts as two), of
// `threads` threads together on a supported instruction set: the best of several short runs, about
// `milliseconds` in all. Blocks; starts and joins its own threads.
double measure_fma_peak_gflops(Isa isa, std::uint32_t threads, std::uint32_t milliseconds = 200);

}  // namespace volvox::cpu
