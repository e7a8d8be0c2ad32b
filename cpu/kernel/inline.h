#pragma once

// Kernels are built from small pieces that must end up in registers of one function.
#define VOLVOX_INLINE inline __attribute__((always_inline))

// In front of a loop whose count is a constant: arrays that it indexes can then live in registers.
#if defined(__clang__)
#define VOLVOX_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VOLVOX_UNROLL _Pragma("GCC unroll 16")
#endif
