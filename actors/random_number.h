#pragma once

#include <cstdint>

#include "base/error.h"

namespace volvox {

// 64 bits that nobody can predict, from the kernel. Fails only when the kernel has none to give.
Result<std::uint64_t> random_bits();

// Tells this run of a process from its earlier ones, and from other processes. Never 0, which stands for
// nobody.
Result<std::uint64_t> random_incarnation();

}  // namespace volvox
