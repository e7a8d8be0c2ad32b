#pragma once

#include <cstdint>

#include "base/error.h"

namespace volvox {

// 64 bits that nobody can predict, from the kernel. Fails only when the kernel has none to give.
Result<std::uint64_t> random_bits();

// The same but never 0, which stands for nobody: a process's incarnation, which tells this run of it from
// earlier ones; a nonce.
Result<std::uint64_t> random_identity();

}  // namespace volvox
