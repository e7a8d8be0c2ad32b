#pragma once

#include "cpu/kernel/product_tile.h"

namespace volvox::cpu {

// Picks the tile of the right height. Tiles are at most kTileRows high.
template <class V, class Pass, int R = kTileRows<V, Pass::kGroups>>
VOLVOX_INLINE void run_rows(std::size_t height, const ProductBlock& p, const Stretch& s, std::size_t row,
                            const char* fetch) {
  if constexpr (R > 1) {
    if (height != R) return run_rows<V, Pass, R - 1>(height, p, s, row, fetch);
  }
  Pass::template run<V, R>(p, s, row, fetch);
}

// Cache lines of the weights of kPrefetchSteps steps.
template <class V, std::size_t G>
inline constexpr std::size_t kGroupLines = G* kPrefetchSteps* V::kLanes * sizeof(float) / 64;

template <class V, std::size_t G>
VOLVOX_INLINE std::size_t tiles_of(std::size_t rows) {
  return (rows + kTileRows<V, G> - 1) / kTileRows<V, G>;
}

// All rows through one stretch of a block of G groups, in tiles whose heights differ by at most one: a last
// tile of one row would take as long as a tile of two. Each fetches its share of the next stretch's weights.
template <class V, class Pass, std::size_t G>
inline void run_stretch(const ProductBlock& p, const Stretch& s) {
  const std::size_t rows = p.row_end - p.row_begin;
  const std::size_t tiles = tiles_of<V, Pass::kGroups>(rows);
  const std::size_t share = (s.end - s.begin) / kPrefetchSteps * s.lines * 64;
  std::size_t row = p.row_begin;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t height = rows / tiles + (tile < rows % tiles ? 1 : 0);
    Stretch own = s;
    if (tile * s.lines >= kGroupLines<V, G>) own.lines = 0;
    run_rows<V, Pass>(height, p, own, row, s.fetch + tile * share);
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
// so much to do between two reads that the second cache is near enough, unless they read but a part of what
// lies there (`in_parts`). Every tile fetches its share of the next stretch, so that the memory is asked for
// little at a time: too many fetches at once stop the loads.
template <class V, std::size_t G>
VOLVOX_INLINE BlockPlan plan_block(std::size_t width, std::size_t tiles, bool in_parts) {
  if (tiles == 1) return {1, 0};
  const std::size_t stretch = tiles <= 3 || in_parts ? kShortStretch : kLongStretch;
  const std::size_t stretches = (width + stretch / 2) / stretch;
  return {stretches == 0 ? 1 : stretches, (kGroupLines<V, G> + tiles - 1) / tiles};
}

// Tiles of two rows read a weight for every second multiply-add, which is more than the second cache gives.
// So many groups are computed half of them at a time, in tiles of twice the rows.
template <class V, std::size_t G>
inline constexpr bool kInParts = G > kPlainGroups&& kTileRows<V, G> <= 2;

template <class V, class Step>
inline void run_whole(const ProductBlock& p) {
  constexpr std::size_t G = Step::kGroups, kHalf = (G + 1) / 2;
  std::size_t width = 0;
  for (std::size_t t = 0; t < p.term_count; ++t) width += p.terms[t].width;
  const std::size_t rows = p.row_end - p.row_begin, tiles = tiles_of<V, G>(rows);
  const bool in_parts = kInParts<V, G> && tiles > 1;
  const BlockPlan plan = plan_block<V, G>(width, in_parts ? tiles_of<V, kHalf>(rows) : tiles, in_parts);
  for (std::size_t i = 0; i < plan.stretches; ++i) {
    Stretch s;
    s.begin = width * i / plan.stretches;
    s.end = width * (i + 1) / plan.stretches;
    s.first = i == 0;
    s.last = i + 1 == plan.stretches;
    const float* next = s.last ? p.upcoming : p.weights + s.end * G * V::kLanes;
    s.fetch = reinterpret_cast<const char*>(next);
    s.lines = next == nullptr ? 0 : plan.lines;
    if constexpr (kInParts<V, G>) {
      if (in_parts) {
        run_stretch<V, PartPass<0, kHalf, G>, G>(p, s);
        s.lines = 0;
        run_stretch<V, PartPass<kHalf, G - kHalf, G>, G>(p, s);
        continue;
      }
    }
    run_stretch<V, WholePass<Step>, G>(p, s);
  }
  if constexpr (kInParts<V, G>) {
    if (in_parts) run_stretch<V, LastPass<Step>, G>(p, {});
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
