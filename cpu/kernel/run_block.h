#pragma once

#include "cpu/kernel/product_tile.h"

namespace volvox::cpu {

// Picks the tile of the right height. Tiles are at most kTileRows high.
template <class V, class Step, int R = kTileRows<V, Step::kGroups>>
VOLVOX_INLINE void run_rows(std::size_t height, const ProductBlock& p, const Stretch& s, std::size_t row,
                            const char* fetch) {
  if constexpr (R > 1) {
    if (height != R) return run_rows<V, Step, R - 1>(height, p, s, row, fetch);
  }
  run_tile<V, R, Step>(p, s, row, fetch);
}

// Cache lines of the weights of kPrefetchSteps steps.
template <class V, class Step>
inline constexpr std::size_t kGroupLines = Step::kGroups* kPrefetchSteps* V::kLanes * sizeof(float) / 64;

template <class V, class Step>
VOLVOX_INLINE std::size_t tiles_of(std::size_t rows) {
  constexpr std::size_t kRows = kTileRows<V, Step::kGroups>;
  return (rows + kRows - 1) / kRows;
}

// All rows through one stretch, in tiles whose heights differ by at most one: a last tile of one row would
// take as long as a tile of two. Each fetches its share of the next stretch's weights.
template <class V, class Step>
inline void run_stretch(const ProductBlock& p, const Stretch& s) {
  const std::size_t rows = p.row_end - p.row_begin;
  const std::size_t tiles = tiles_of<V, Step>(rows);
  const std::size_t share = (s.end - s.begin) / kPrefetchSteps * s.lines * 64;
  std::size_t row = p.row_begin;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t height = rows / tiles + (tile < rows % tiles ? 1 : 0);
    Stretch own = s;
    if (tile * s.lines >= kGroupLines<V, Step>) own.lines = 0;
    run_rows<V, Step>(height, p, own, row, s.fetch + tile * share);
    row += height;
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
template <class V, class Step>
VOLVOX_INLINE BlockPlan plan_block(std::size_t width, std::size_t tiles) {
  if (tiles == 1) return {1, 0};
  const std::size_t stretch = tiles <= 3 ? kShortStretch : kLongStretch;
  const std::size_t stretches = (width + stretch / 2) / stretch;
  return {stretches == 0 ? 1 : stretches, (kGroupLines<V, Step> + tiles - 1) / tiles};
}

template <class V, class Step>
inline void run_whole(const ProductBlock& p) {
  std::size_t width = 0;
  for (std::size_t t = 0; t < p.term_count; ++t) width += p.terms[t].width;
  const std::size_t rows = p.row_end - p.row_begin;
  const BlockPlan plan = plan_block<V, Step>(width, tiles_of<V, Step>(rows));
  for (std::size_t i = 0; i < plan.stretches; ++i) {
    Stretch s;
    s.begin = width * i / plan.stretches;
    s.end = width * (i + 1) / plan.stretches;
    s.first = i == 0;
    s.last = i + 1 == plan.stretches;
    const float* next = s.last ? p.upcoming : p.weights + s.end * Step::kGroups * V::kLanes;
    s.fetch = reinterpret_cast<const char*>(next);
    s.lines = next == nullptr ? 0 : plan.lines;
    run_stretch<V, Step>(p, s);
  }
}

// A block whose step is of one number of groups, or of those of its class Narrow as well.
template <class V, class Step, std::size_t G = 1>
inline void run_block(const ProductBlock& p) {
  if constexpr (requires { typename Step::template Narrow<G>; } && G < Step::kGroups) {
    if (p.groups == G) return run_whole<V, typename Step::template Narrow<G>>(p);
    return run_block<V, Step, G + 1>(p);
  } else {
    run_whole<V, Step>(p);
  }
}

}  // namespace volvox::cpu
