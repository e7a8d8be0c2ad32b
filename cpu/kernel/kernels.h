#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa.h"
#include "cpu/kernel/product_block.h"

namespace volvox::cpu {

// RealMath::kDotParts.
inline constexpr std::size_t kDotParts = 16;

// What works off a block of a product.
using BlockKernel = void (*)(const ProductBlock&);

// The kernels of one instruction set. All are pure functions; any thread may call them.
struct Kernels {
  Isa isa;
  const char* name;
  std::size_t lanes;  // of a register: for these kernels products are packed (PackedProduct::make)

  // out[0] = the product. See ProductBlock.
  BlockKernel product;
  // Of each fused kernel, in the order of fused_kernels().
  const BlockKernel* fused;

  // Element by element over n floats; `out` may be an input.
  void (*exp)(const float* x, float* out, std::size_t n);
  void (*log)(const float* x, float* out, std::size_t n);
  void (*sigmoid)(const float* x, float* out, std::size_t n);
  void (*tanh)(const float* x, float* out, std::size_t n);
  void (*erf)(const float* x, float* out, std::size_t n);
  void (*sqrt)(const float* x, float* out, std::size_t n);
  void (*relu)(const float* x, float* out, std::size_t n);  // x, or 0 where it is less; a NaN stays one
  void (*add)(const float* a, const float* b, float* out, std::size_t n);
  void (*sub)(const float* a, const float* b, float* out, std::size_t n);
  void (*mul)(const float* a, const float* b, float* out, std::size_t n);
  void (*div)(const float* a, const float* b, float* out, std::size_t n);
  void (*mul_add)(const float* a, const float* b, const float* c, float* out, std::size_t n);

  // start + Σ a[k]·b[k]: one chain of fused multiply-adds over ascending k.
  float (*chain)(float start, const float* a, const float* b, std::size_t n);
  // See RealMath::dots.
  void (*dots)(const float* const* a, const float* const* b, std::size_t count, std::size_t n, float* out);
  // out[k] = Σ scales[i][scale_at] · x[i][x_at + k] over `count` of them, each product and each sum rounded.
  void (*weighed_sum)(const float* const* scales, std::size_t scale_at, const float* const* x,
                      std::size_t x_at, std::size_t count, std::size_t n, float* out);

  // to[i] = from[n - 1 - i]; they do not overlap.
  void (*reverse)(const float* from, float* to, std::size_t n);
  // A matrix turned around: to[c · stride + r] = from[r · columns + c] of `rows` rows.
  void (*turn)(const float* from, std::size_t rows, std::size_t columns, float* to, std::size_t stride);

  // Index of the largest of n floats (n > 0), the first of equals; a NaN is less than all else.
  std::int32_t (*argmax)(const float* x, std::size_t n);

  // Runs `rounds` rounds of independent fused multiply-adds in registers; returns the floating-point
  // operations done (two for each lane), and adds something to `sink` that depends on all of them.
  std::uint64_t (*fma_burst)(std::uint64_t rounds, float* sink);
};

// The kernels of a supported instruction set (kAuto: the best). Never null for a supported one.
const Kernels* kernels_for(Isa isa);

// One for each translation unit; null where the build has no such path.
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
const Kernels* portable_kernels();

}  // namespace volvox::cpu
