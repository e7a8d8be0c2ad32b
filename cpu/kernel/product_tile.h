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

// R rows × G registers of accumulators: the part of a block that lives in registers. Of the block's kAll
// groups it has those from kFirst on.
template <class V, int R, std::size_t G, std::size_t kFirst = 0, std::size_t kAll = G>
struct Tile {
  static constexpr std::size_t kColumns = kAll * V::kLanes;  // of a row of weights, and of what is parked
  typename V::Reg acc[R][G];

  // A row of `start` may lie anywhere, as in a table of which few rows are in a cache: what the thread's next
  // block reads of it is asked for now.
  VOLVOX_INLINE void begin(const ProductBlock& p, std::size_t row) {
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) {
        if (p.start != nullptr) {
          const float* from = p.start[row + r] + (kFirst + g) * p.gate_stride;
          acc[r][g] = V::load_first(from + p.column, p.valid[kFirst + g]);
          __builtin_prefetch(from + p.upcoming_column, 0, 2);
        } else {
          acc[r][g] = p.bias == nullptr ? V::set(0.0F) : V::load(p.bias + (kFirst + g) * V::kLanes);
        }
      }
    }
  }
  VOLVOX_INLINE void load(const float* from) {
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) acc[r][g] = V::load(from + r * kColumns + (kFirst + g) * V::kLanes);
    }
  }
  VOLVOX_INLINE void save(float* to) const {
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) V::store(to + r * kColumns + (kFirst + g) * V::kLanes, acc[r][g]);
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
        const auto weight = V::load(w + (kFirst + g) * V::kLanes);
        VOLVOX_UNROLL
        for (int r = 0; r < R; ++r) acc[r][g] = V::fma(value[r], weight, acc[r][g]);
      }
    } else {
      typename V::Reg weight[G];
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < G; ++g) weight[g] = V::load(w + (kFirst + g) * V::kLanes);
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

// Where the tile's row `row` is parked between stretches.
template <class T>
VOLVOX_INLINE float* parked(const ProductBlock& p, std::size_t row, const T& tile) {
  return p.scratch + (row - p.row_begin) * tile.kColumns;
}

// What the step will read of these rows besides the product lies anywhere, such as in the states of children:
// it is asked for while the product is computed.
VOLVOX_INLINE void fetch_inputs(const ProductBlock& p, std::size_t row, int rows) {
  for (std::size_t i = 0; i < kMaxStepInputs && p.in[i] != nullptr; ++i) {
    for (int r = 0; r < rows; ++r) __builtin_prefetch(p.in[i][row + r] + p.unit, 0, 2);
  }
}

// Carries the rows of a tile, from `row` on, through one stretch.
template <class V, int R, std::size_t G, std::size_t kFirst, std::size_t kAll>
VOLVOX_INLINE void carry(Tile<V, R, G, kFirst, kAll>& tile, const ProductBlock& p, const Stretch& s,
                         std::size_t row, const char* fetch) {
  if (s.first) {
    if constexpr (kFirst == 0) fetch_inputs(p, row, R);
    tile.begin(p, row);
  } else {
    tile.load(parked(p, row, tile));
  }
  std::size_t term_begin = 0;
  for (std::size_t t = 0; t < p.term_count; ++t) {
    const std::size_t term_end = term_begin + p.terms[t].width;
    const std::size_t from = s.begin > term_begin ? s.begin : term_begin;
    const std::size_t to = s.end < term_end ? s.end : term_end;
    if (from < to) {
      tile.accumulate(p.terms[t].rows + row, from - term_begin, to - from, p.weights + from * tile.kColumns,
                      fetch, s.lines);
    }
    term_begin = term_end;
  }
}

// What is done to R rows of a block, from `row` on:
//   static constexpr std::size_t kGroups = …;  // of the tile in which it is done
//   template <class V, int R> static void run(const ProductBlock&, const Stretch&, row, const char* fetch)

// One stretch, of all groups. After the last one the step makes of the sums what it is for:
//   static constexpr std::size_t kGroups = …;
//   template <class V, int R> static void finish(const Tile<V, R, kGroups>&, const ProductBlock&, row)
template <class Step>
struct WholePass {
  static constexpr std::size_t kGroups = Step::kGroups;
  template <class V, int R>
  static void run(const ProductBlock& p, const Stretch& s, std::size_t row, const char* fetch) {
    Tile<V, R, kGroups> tile;
    carry(tile, p, s, row, fetch);
    if (s.last) {
      Step::template finish<V, R>(tile, p, row);
    } else {
      tile.save(parked(p, row, tile));
    }
  }
};

// One stretch, of some of the groups, whose sums are parked after the last one, too.
template <std::size_t kFirst, std::size_t G, std::size_t kAll>
struct PartPass {
  static constexpr std::size_t kGroups = G;
  template <class V, int R>
  static void run(const ProductBlock& p, const Stretch& s, std::size_t row, const char* fetch) {
    Tile<V, R, G, kFirst, kAll> tile;
    carry(tile, p, s, row, fetch);
    tile.save(parked(p, row, tile));
  }
};

// Once all parts are parked, what WholePass does after the last stretch.
template <class Step>
struct LastPass {
  static constexpr std::size_t kGroups = Step::kGroups;
  template <class V, int R>
  static void run(const ProductBlock& p, const Stretch&, std::size_t row, const char*) {
    Tile<V, R, kGroups> tile;
    tile.load(parked(p, row, tile));
    Step::template finish<V, R>(tile, p, row);
  }
};

}  // namespace volvox::cpu
