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
void sqrt_array(const float* x, float* out, std::size_t n) {
  for_each_lane<V>(
      n, [=](std::size_t i, int m) { V::store_first(out + i, V::sqrt(V::load_first(x + i, m)), m); });
}
template <class V>
void relu_array(const float* x, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    V::store_first(out + i, V::max(V::set(0.0F), V::load_first(x + i, m)), m);
  });
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

template <class V, std::size_t kDots>
VOLVOX_INLINE void dots_at_once(const float* const* a, const float* const* b, std::size_t n, float* out) {
  constexpr std::size_t kParts = kDotParts, kLanes = V::kLanes;
  typename V::Reg sums[kDots][kParts / kLanes];
  for (auto& parts : sums) {
    for (auto& part : parts) part = V::set(0.0F);
  }
  std::size_t k = 0;
  for (; k + kParts <= n; k += kParts) {
    VOLVOX_UNROLL
    for (std::size_t i = 0; i < kDots; ++i) {
      VOLVOX_UNROLL
      for (std::size_t r = 0; r < kParts / kLanes; ++r)
        sums[i][r] = V::fma(V::load(a[i] + k + r * kLanes), V::load(b[i] + k + r * kLanes), sums[i][r]);
    }
  }
  for (std::size_t r = 0; k < n && r < kParts / kLanes; ++r) {  // what is left, and zeros behind it
    const std::size_t from = k + r * kLanes, left = from < n ? n - from : 0;
    const int there = static_cast<int>(left < kLanes ? left : kLanes);
    const auto take = [&](const float* x) {
      return there == 0 ? V::set(0.0F) : V::load_first(x + from, there);
    };
    for (std::size_t i = 0; i < kDots; ++i) sums[i][r] = V::fma(take(a[i]), take(b[i]), sums[i][r]);
  }
  float parts[kDots][kParts];
  for (std::size_t i = 0; i < kDots; ++i) {
    for (std::size_t r = 0; r < kParts / kLanes; ++r) V::store(parts[i] + r * kLanes, sums[i][r]);
  }
  VOLVOX_UNROLL
  for (std::size_t half = kParts / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < kDots; ++i) {
      VOLVOX_UNROLL
      for (std::size_t j = 0; j < half; ++j) parts[i][j] += parts[i][j + half];
    }
  }
  for (std::size_t i = 0; i < kDots; ++i) out[i] = parts[i][0];
}

// As many at once as registers hold.
template <class V>
void dots(const float* const* a, const float* const* b, std::size_t count, std::size_t n, float* out) {
  constexpr std::size_t kAtOnce = V::kLanes / 2;
  std::size_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) dots_at_once<V, kAtOnce>(a + i, b + i, n, out + i);
  for (; i < count; ++i) dots_at_once<V, 1>(a + i, b + i, n, out + i);
}

template <class V, std::size_t kRegisters>
VOLVOX_INLINE void weigh_registers(const float* const* scales, std::size_t scale_at, const float* const* x,
                                   std::size_t x_at, std::size_t count, float* out, int last = V::kLanes) {
  typename V::Reg sums[kRegisters];
  for (auto& sum : sums) sum = V::set(0.0F);
  for (std::size_t i = 0; i < count; ++i) {
    const auto scale = V::set(scales[i][scale_at]);
    VOLVOX_UNROLL
    for (std::size_t r = 0; r < kRegisters; ++r) {
      const float* const from = x[i] + x_at + r * V::kLanes;
      sums[r] = V::add(sums[r], V::mul(scale, last < V::kLanes ? V::load_first(from, last) : V::load(from)));
    }
  }
  for (std::size_t r = 0; r < kRegisters; ++r) {
    float* const to = out + r * V::kLanes;
    last < V::kLanes ? V::store_first(to, sums[r], last) : V::store(to, sums[r]);
  }
}

template <class V>
void weighed_sum(const float* const* scales, std::size_t scale_at, const float* const* x, std::size_t x_at,
                 std::size_t count, std::size_t n, float* out) {
  constexpr std::size_t kMany = 4, kLanes = V::kLanes;
  std::size_t k = 0;
  for (; k + kMany * kLanes <= n; k += kMany * kLanes)
    weigh_registers<V, kMany>(scales, scale_at, x, x_at + k, count, out + k);
  for (; k + kLanes <= n; k += kLanes) weigh_registers<V, 1>(scales, scale_at, x, x_at + k, count, out + k);
  if (k < n) weigh_registers<V, 1>(scales, scale_at, x, x_at + k, count, out + k, static_cast<int>(n - k));
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
          sqrt_array<V>,
          relu_array<V>,
          add_array<V>,
          sub_array<V>,
          mul_array<V>,
          div_array<V>,
          mul_add_array<V>,
          chain_of<V>,
          dots<V>,
          weighed_sum<V>,
          reverse<V>,
          turn<V>,
          argmax<V>,
          fma_burst<V>};
}

}  // namespace volvox::cpu
