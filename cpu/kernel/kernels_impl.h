#pragma once

#include <cmath>

#include "cpu/kernel/kernels.h"
#include "cpu/kernel/product_tile.h"

namespace volvox::cpu {

// Picks the tile of the right height. Tiles are at most V::kTileRows high.
template <class V, bool kLstm, int R = V::kTileRows>
VOLVOX_INLINE void run_rows(std::size_t height, const ProductBlock& p, const Stretch& s, std::size_t row,
                            std::size_t half, const char* fetch) {
  if constexpr (R > 1) {
    if (height != R) return run_rows<V, kLstm, R - 1>(height, p, s, row, half, fetch);
  }
  run_tile<V, R, kLstm>(p, s, row, half, fetch);
}

// All rows through one stretch, in tiles whose heights differ by at most one: a last tile of one row would
// take as long as a tile of two. Each fetches its share of the next stretch's weights.
template <class V, bool kLstm>
inline void run_stretch(const ProductBlock& p, const Stretch& s) {
  const std::size_t rows = p.row_end - p.row_begin;
  const std::size_t tiles = (rows + V::kTileRows - 1) / V::kTileRows;
  const std::size_t share = (s.end - s.begin) / kPrefetchSteps * s.lines * 64;
  for (std::size_t half = 0; half < kUnits; half += V::kLanes) {
    std::size_t row = p.row_begin;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      const std::size_t height = rows / tiles + (tile < rows % tiles ? 1 : 0);
      Stretch own = s;
      if (half != 0 || tile * s.lines >= kGates * kPrefetchSteps) own.lines = 0;
      run_rows<V, kLstm>(height, p, own, row, half, s.fetch + tile * share);
      row += height;
    }
  }
}

// How a block goes through k.
struct BlockPlan {
  std::size_t stretches;
  std::size_t lines;  // Stretch::lines
};

// One tile reads every weight once, and the processor fetches what is read in a row better by itself. Two or
// three read a stretch from the first cache after the first of them has brought it there. More of them have
// so much to do between two reads that the second cache is near enough. Every tile fetches its share of the
// next stretch, so that the memory is asked for little at a time: too many fetches at once stop the loads.
template <class V>
VOLVOX_INLINE BlockPlan plan_block(std::size_t width, std::size_t tiles) {
  constexpr std::size_t kGroup = kGates * kPrefetchSteps;
  if (tiles == 1) return {1, 0};
  const std::size_t stretch = tiles <= 3 ? kShortStretch : kLongStretch;
  const std::size_t stretches = (width + stretch / 2) / stretch;
  return {stretches == 0 ? 1 : stretches, (kGroup + tiles - 1) / tiles};
}

template <class V, bool kLstm>
inline void run_block(const ProductBlock& p) {
  std::size_t width = 0;
  for (std::size_t t = 0; t < p.term_count; ++t) width += p.terms[t].width;
  const std::size_t rows = p.row_end - p.row_begin;
  const BlockPlan plan = plan_block<V>(width, (rows + V::kTileRows - 1) / V::kTileRows);
  for (std::size_t i = 0; i < plan.stretches; ++i) {
    Stretch s;
    s.begin = width * i / plan.stretches;
    s.end = width * (i + 1) / plan.stretches;
    s.first = i == 0;
    s.last = i + 1 == plan.stretches;
    const float* next = s.last ? p.upcoming : p.weights + s.end * kBlockColumns;
    s.fetch = reinterpret_cast<const char*>(next);
    s.lines = next == nullptr ? 0 : plan.lines;
    run_stretch<V, kLstm>(p, s);
  }
}

template <class V>
void product(const ProductBlock& p) {
  run_block<V, false>(p);
}
template <class V>
void lstm(const ProductBlock& p) {
  run_block<V, true>(p);
}

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
void add_array(const float* a, const float* b, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    V::store_first(out + i, V::add(V::load_first(a + i, m), V::load_first(b + i, m)), m);
  });
}
template <class V>
void mul_array(const float* a, const float* b, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    V::store_first(out + i, V::mul(V::load_first(a + i, m), V::load_first(b + i, m)), m);
  });
}
template <class V>
void mul_add_array(const float* a, const float* b, const float* c, float* out, std::size_t n) {
  for_each_lane<V>(n, [=](std::size_t i, int m) {
    const auto sum = V::fma(V::load_first(a + i, m), V::load_first(b + i, m), V::load_first(c + i, m));
    V::store_first(out + i, sum, m);
  });
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
  return {isa,           name,         product<V>,   lstm<V>,          exp_array<V>, sigmoid_array<V>,
          tanh_array<V>, add_array<V>, mul_array<V>, mul_add_array<V>, argmax<V>,    fma_burst<V>};
}

}  // namespace volvox::cpu
