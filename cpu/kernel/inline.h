#pragma once

// Kernels are built from small pieces that must end up in registers of one function.
#define VOLVOX_INLINE inline __attribute__((always_inline))
