#pragma once

#include "cpu/kernel/inline.h"
#include "cpu/kernel/product_block.h"

namespace volvox::cpu {

// Steps of k between two groups of prefetches.
inline constexpr std::size_t kPrefetchSteps = 4;

// A stretch [begin, end) of k, and what to fetch into the second cache meanwhile: `lines` cache lines for
// every kPrefetchSteps steps.
struct Stretch {
  std::size_t begin = 0, end = 0;
  bool first = false, last = false;
  const char* fetch = nullptr;
  std::size_t lines = 0;
};

// How many rows a tile of G groups has at most: accumulators leave room for a row of weights and an operand.
// Eight chains at a time keep two units of fused multiply-adds busy; more would be more code.
inline constexpr int kMostTileRows = 8;
template <class V, std::size_t G>
inline constexpr int kTileRows = V::kAccumulators / static_cast<int>(G) < kMostTileRows
                                     ? V::kAccumulators / static_cast<int>(G)
                                     : kMostTileRows;

// R rows × G registers of accumulators: the part of a block that lives in registers.
template <class V, int R, std::size_t G>
struct Tile {
  static constexpr std::size_t kColumns = G * V::kLanes;
  typename V::Reg acc[R][G];

  // A row of `start` may lie anywhere, as in a table of which few rows are in a cache: what the thread's next
  // block reads of it is asked for now.
  VOLVOX_INLINE void begin(const ProductBlock& p, std::size_t row) {
    const std::size_t next = p.gate_stride == V::kLanes ? kColumns : V::kLanes;
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) {
        if (p.start != nullptr) {
          const float* from = p.start[row + r] + p.column + g * p.gate_stride;
          acc[r][g] = V::load_first(from, p.valid[g]);
          __builtin_prefetch(from + next, 0, 2);
        } else {
          acc[r][g] = p.bias == nullptr ? V::set(0.0F) : V::load(p.bias + g * V::kLanes);
        }
      }
    }
  }
  VOLVOX_INLINE void load(const float* from) {
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) acc[r][g] = V::load(from + r * kColumns + g * V::kLanes);
    }
  }
  VOLVOX_INLINE void save(float* to) const {
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) V::store(to + r * kColumns + g * V::kLanes, acc[r][g]);
    }
  }

  // acc += x[k]·w[k] for one k. Of what it reads, the fewer stay in registers: with the others as well there
  // would be more than there are.
  VOLVOX_INLINE void step(const float* const (&x)[R], std::size_t k, const float* w) {
    if constexpr (static_cast<std::size_t>(R) < G) {
      typename V::Reg value[R];
      VOLVOX_UNROLL
      for (int r = 0; r < R; ++r) value[r] = V::set(x[r][k]);
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) {
        const auto weight = V::load(w + g * V::kLanes);
        VOLVOX_UNROLL
        for (int r = 0; r < R; ++r) acc[r][g] = V::fma(value[r], weight, acc[r][g]);
      }
    } else {
      typename V::Reg weight[G];
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) weight[g] = V::load(w + g * V::kLanes);
      VOLVOX_UNROLL
      for (int r = 0; r < R; ++r) {
        const auto value = V::set(x[r][k]);
        VOLVOX_UNROLL
        for (std::size_t g = 0; g < G; ++g) acc[r][g] = V::fma(value, weight[g], acc[r][g]);
      }
    }
  }

  // The part of a stretch that lies in one term: `n` steps from x[r][k].
  VOLVOX_INLINE void accumulate(const float* const* rows, std::size_t k, std::size_t n, const float* w,
                                const char*& fetch, std::size_t lines) {
    const float* x[R];
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) x[r] = rows[r] + k;
    std::size_t i = 0;
    for (; i + kPrefetchSteps <= n; i += kPrefetchSteps) {
      for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(fetch + 64 * line, 0, 2);
      fetch += 64 * lines;
      VOLVOX_UNROLL
      for (std::size_t j = 0; j < kPrefetchSteps; ++j) {
        step(x, i + j, w);
        w += kColumns;
      }
    }
    for (; i < n; ++i) {
      step(x, i, w);
      w += kColumns;
    }
  }
};

// Carries rows row … row+R-1 through one stretch. After the last one the step makes of the sums what it is
// for:
//   static constexpr std::size_t kGroups = …;
//   template <class V, int R> static void finish(const Tile<V, R, kGroups>&, const ProductBlock&, row)
template <class V, int R, class Step>
inline void run_tile(const ProductBlock& p, const Stretch& s, std::size_t row, const char* fetch) {
  Tile<V, R, Step::kGroups> tile;
  constexpr std::size_t kColumns = tile.kColumns;
  float* parked = p.scratch + (row - p.row_begin) * kColumns;
  if (s.first) {
    tile.begin(p, row);
  } else {
    tile.load(parked);
  }
  std::size_t term_begin = 0;
  for (std::size_t t = 0; t < p.term_count; ++t) {
    const std::size_t term_end = term_begin + p.terms[t].width;
    const std::size_t from = s.begin > term_begin ? s.begin : term_begin;
    const std::size_t to = s.end < term_end ? s.end : term_end;
    if (from < to) {
      tile.accumulate(p.terms[t].rows + row, from - term_begin, to - from, p.weights + from * kColumns, fetch,
                      s.lines);
    }
    term_begin = term_end;
  }
  if (!s.last) {
    tile.save(parked);
  } else {
    Step::template finish<V, R>(tile, p, row);
  }
}

}  // namespace volvox::cpu
