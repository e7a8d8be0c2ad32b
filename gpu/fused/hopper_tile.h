#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "gpu/kernels/target.h"

namespace volvox::gpu::hopper {

// Where things lie for the LSTM step of GPUs of compute capability 9.0 (hopper_lstm.cuh): rows of a task are
// the rows of its product, gates of units the columns. A block computes a tile of kRows rows by kUnits
// units, and takes its operands in slabs of kDepth elements, of 16 bits each.
inline constexpr std::uint32_t kUnits = 32, kColumns = 4 * kUnits, kDepth = 64;
inline constexpr std::uint32_t kRowBytes = kDepth * 2;             // of a slab; eight vectors of 16 bytes
inline constexpr std::uint32_t kSlabBytes = kColumns * kRowBytes;  // of the weights

// Both operands lie in shared memory as wgmma's 128-byte swizzle wants them: vector `vector` of row `row` of
// a slab, in bytes from its begin. Eight rows that are read at once meet in no bank.
VOLVOX_KERNEL_BODY std::uint32_t vector_at(std::uint32_t row, std::uint32_t vector) {
  return row * kRowBytes + (vector ^ row % 8) * 16;
}

// Which column of its tile a gate of unit `unit` of the tile is. wgmma leaves to each thread, of each 8
// columns, two neighbours: here these are two gates, and of 64 columns a thread has all four gates of four
// neighbouring units, so that the update of a unit needs nothing of other threads.
VOLVOX_KERNEL_BODY std::uint32_t column_of(std::uint32_t unit, std::uint32_t gate) {
  const std::uint32_t lane = unit % 16 / 4;
  return unit / 16 * 64 + (unit % 4 * 2 + gate / 2) * 8 + lane * 2 + gate % 2;
}

// The same the other way: what a thread's sums are, of lane `lane` in a quad of threads, for columns
// 64·part + 8·group + 2·lane + pair.
VOLVOX_KERNEL_BODY std::uint32_t unit_of(std::uint32_t part, std::uint32_t lane, std::uint32_t group) {
  return part * 16 + lane * 4 + group / 2;
}
VOLVOX_KERNEL_BODY std::uint32_t gate_of(std::uint32_t group, std::uint32_t pair) {
  return group % 2 * 2 + pair;
}

// Element of the packed weights: [tile of units][slab][column, swizzled], so that a slab of a tile is one
// stretch of memory that lies in shared memory as it is. `width`: of the operands, a multiple of kDepth.
VOLVOX_KERNEL_BODY std::uint64_t weight_at(std::uint32_t width, std::uint32_t unit, std::uint32_t gate,
                                           std::uint32_t k) {
  const std::uint64_t slab = std::uint64_t{unit / kUnits} * (width / kDepth) + k / kDepth;
  const std::uint32_t inside = vector_at(column_of(unit % kUnits, gate), k % kDepth / 8) / 2 + k % 8;
  return slab * (kSlabBytes / 2) + inside;
}

inline std::uint64_t weight_elements(std::uint32_t width, std::uint32_t units) {
  return std::uint64_t{4} * width * units;
}

// How a task is cut into blocks: tiles of so many rows, and each tile's operands shared by so many blocks,
// which add up what they have. Mates are as many blocks of the same units and neighbouring rows: each brings
// its share of the weights to all of them.
struct Cut {
  std::uint32_t rows = 0, split = 1, mates = 1;
};

// The cut whose blocks have the least to bring, wave by wave, once it is their turn. `early`: how many of the
// operands' elements, the first ones, no task writes; a task's blocks that find room beside those of the task
// ahead take them, and their first weights, before that has ended. What else costs time counts as the
// kilobytes that come in it: the exchange of split sums, beginning only where a block of the task ahead has
// ended, and waiting for mates, who save nothing while the second cache gives each block what it can take, or
// products take longer (measured on an H200: the best cut of all for the sizes that were tried). With
// `reproducible` no sum is split: its bits must not depend on how many rows there are. Clusters of four are
// not among the cuts: a GPU has not room for as many as it has multiprocessors.
inline Cut cut_of(std::uint32_t rows, std::uint32_t units, std::uint32_t width, std::uint32_t early,
                  std::uint32_t multiprocessors, bool reproducible) {
  constexpr std::uint32_t kExchangeKib = 180, kBeginKib = 100, kMatesKib = 20;
  const std::uint32_t slabs = width / kDepth;
  Cut best;
  std::uint64_t least = ~std::uint64_t{0};
  for (const Cut cut : {Cut{128, 1}, Cut{64, 1}, Cut{64, 1, 2}, Cut{64, 2}}) {
    if (cut.split > 1 && (reproducible || slabs % cut.split != 0)) continue;
    const std::uint64_t tiles = (rows + cut.rows - 1) / cut.rows;
    if (tiles % cut.mates != 0) continue;
    const std::uint64_t blocks = tiles * (units / kUnits) * cut.split;
    const std::uint64_t waves = (blocks + multiprocessors - 1) / multiprocessors;
    const bool beside = 2 * blocks <= multiprocessors;
    const std::uint32_t each = slabs / cut.split;
    // Of a sum's blocks the last one has the fewest early slabs.
    const std::uint32_t late = beside ? std::min(each, slabs - early / kDepth) : each;
    const std::uint64_t slab_kib = (kSlabBytes / (beside ? 1 : cut.mates) + cut.rows * kRowBytes) / 1024;
    const std::uint64_t kib = late * slab_kib + (cut.split > 1 ? kExchangeKib : 0) +
                              (beside ? 0 : kBeginKib) + (cut.mates > 1 ? kMatesKib : 0);
    if (waves * kib < least) {
      least = waves * kib;
      best = cut;
    }
  }
  return best;
}

}  // namespace volvox::gpu::hopper
