#pragma once

#include <cmath>

#include "cpu/fused/product_step.h"
#include "cpu/fused_blocks.h"
#include "cpu/kernel/kernels.h"
#include "cpu/kernel/run_block.h"
#include "cpu/math/activations.h"

namespace volvox::cpu {

template <class V, class F>
VOLVOX_INLINE void for_each_lane(std::size_t n, F f) {
  std::size_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) f(i, V::kLanes);
  if (i < n) f(i, static_cast<int>(n - i));
}

template <class V>
void exp_array(const float* x, float* out, std::size_t n) {
  for_each_lane<V>(
      n, [=](std::size_t i, int m) { V::store_first(out + i, exp<V>(V::load_first(x + i, m)), m); });
}
template <class V>
void log_array(const float* x, float* out, std::size_t n) {
  for_each_lane<V>(
      n, [=](std::size_t i, int m) { V::store_first(out + i, log<V>(V::load_first(x + i, m)), m); });
}
template <class V>
void sigmoid_array(const float* x, float* out, std::size_t n) {
  for_each_lane<V>(
      n, [=](std::size_t i, int m) { V::store_first(out + i, sigmoid<V>(V::load_first(x + i, m)), m); });
}
template <class V>
void tanh_array(const float* x, float* out, std::size_t n) {
  for_each_lane<V>(
      n, [=](std::size_t i, int m) { V::store_first(out + i, tanh<V>(V::load_first(x + i, m)), m); });
}
template <class V>
void erf_array(const float* x, float* out, std::size_t n) {
  for_each_lane<V>(
      n, [=](std::size_t i, int m) { V::store_first(out + i, erf<V>(V::load_first(x + i, m)), m); });
}
template <class V>
void add_array(const float* a, const float* b, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    V::store_first(out + i, V::add(V::load_first(a + i, m), V::load_first(b + i, m)), m);
  });
}
template <class V>
void sub_array(const float* a, const float* b, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    V::store_first(out + i, V::sub(V::load_first(a + i, m), V::load_first(b + i, m)), m);
  });
}
template <class V>
void mul_array(const float* a, const float* b, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    V::store_first(out + i, V::mul(V::load_first(a + i, m), V::load_first(b + i, m)), m);
  });
}
template <class V>
void div_array(const float* a, const float* b, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    V::store_first(out + i, V::div(V::load_first(a + i, m), V::load_first(b + i, m)), m);
  });
}
template <class V>
void mul_add_array(const float* a, const float* b, const float* c, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    const auto sum = V::fma(V::load_first(a + i, m), V::load_first(b + i, m), V::load_first(c + i, m));
    V::store_first(out + i, sum, m);
  });
}

template <class V>
float chain_of(float start, const float* a, const float* b, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) start = __builtin_fmaf(a[k], b[k], start);
  return start;
}

template <class V>
void chains_of(const float* const* a, const float* const* b, std::size_t n, float* out) {
  constexpr std::size_t kChains = 8;
  float sums[kChains] = {};
  for (std::size_t k = 0; k < n; ++k) {
    VOLVOX_UNROLL
    for (std::size_t i = 0; i < kChains; ++i) sums[i] = __builtin_fmaf(a[i][k], b[i][k], sums[i]);
  }
  for (std::size_t i = 0; i < kChains; ++i) out[i] = sums[i];
}

template <class V>
void reverse(const float* __restrict from, float* __restrict to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = from[n - 1 - i];
}

// With one of the extents known beforehand, loads and stores of the other are of whole registers.
template <class V, std::size_t kRows>
VOLVOX_INLINE void turn_few(const float* from, std::size_t columns, float* to, std::size_t stride) {
  for (std::size_t c = 0; c < columns; ++c) {
    VOLVOX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) to[c * stride + r] = from[r * columns + c];
  }
}
template <class V, std::size_t kColumns>
VOLVOX_INLINE void turn_narrow(const float* from, std::size_t rows, float* to, std::size_t stride) {
  for (std::size_t r = 0; r < rows; ++r) {
    VOLVOX_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) to[c * stride + r] = from[r * kColumns + c];
  }
}
template <class V>
void turn(const float* from, std::size_t rows, std::size_t columns, float* to, std::size_t stride) {
  if (rows == 2) return turn_few<V, 2>(from, columns, to, stride);
  if (rows == 4) return turn_few<V, 4>(from, columns, to, stride);
  if (columns == 2) return turn_narrow<V, 2>(from, rows, to, stride);
  if (columns == 4) return turn_narrow<V, 4>(from, rows, to, stride);
  // A few rows at a time, so that what is written lies on few lines.
  constexpr std::size_t kRows = 8;
  std::size_t r = 0;
  for (; r + kRows <= rows; r += kRows) turn_few<V, kRows>(from + r * columns, columns, to + r, stride);
  for (; r < rows; ++r) turn_few<V, 1>(from + r * columns, columns, to + r, stride);
}

// The largest of n floats without the NaNs, or -∞.
template <class V>
VOLVOX_INLINE float largest_of(const float* x, std::size_t n) {
  auto largest = V::set(-HUGE_VALF);
  std::size_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) largest = V::max(V::load(x + i), largest);  // not where x is NaN
  float lanes[V::kLanes];
  V::store(lanes, largest);
  float best = -HUGE_VALF;
  for (int lane = 0; lane < V::kLanes; ++lane) best = lanes[lane] > best ? lanes[lane] : best;
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

// Lane by lane over all stretches, then one element after the other from the first that holds the largest.
template <class V>
std::int32_t argmax(const float* x, std::size_t n) {
  constexpr std::size_t kSearched = 256;
  float best = -HUGE_VALF;
  std::size_t from = 0;
  for (std::size_t begin = 0; begin < n; begin += kSearched) {
    const float largest = largest_of<V>(x + begin, n - begin < kSearched ? n - begin : kSearched);
    if (!(largest > best)) continue;
    best = largest;
    from = begin;
  }
  for (std::size_t i = from; i < n; ++i) {
    if (x[i] == best) return static_cast<std::int32_t>(i);
  }
  return 0;  // all are NaN
}

// Twelve chains: more than latency × throughput of any fused multiply-add unit in use.
template <class V>
std::uint64_t fma_burst(std::uint64_t rounds, float* sink) {
  constexpr int kChains = 12;
  typename V::Reg acc[kChains];
  for (int i = 0; i < kChains; ++i) acc[i] = V::set(*sink + static_cast<float>(i));
  const auto scale = V::set(0.5F);
  const auto shift = V::set(1.0F);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) acc[i] = V::fma(acc[i], scale, shift);
  }
  for (int i = 1; i < kChains; ++i) acc[0] = V::add(acc[0], acc[i]);
  V::store_first(sink, acc[0], 1);
  return rounds * kChains * V::kLanes * 2;
}

template <class V>
constexpr Kernels make_kernels(Isa isa, const char* name) {
  return {isa,
          name,
          V::kLanes,
          run_block<V, ProductStep>,
          kFusedBlocks<V>,
          exp_array<V>,
          log_array<V>,
          sigmoid_array<V>,
          tanh_array<V>,
          erf_array<V>,
          add_array<V>,
          sub_array<V>,
          mul_array<V>,
          div_array<V>,
          mul_add_array<V>,
          chain_of<V>,
          chains_of<V>,
          reverse<V>,
          turn<V>,
          argmax<V>,
          fma_burst<V>};
}

}  // namespace volvox::cpu
