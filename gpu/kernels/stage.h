#pragma once

#include "gpu/kernels/pointwise.h"
#include "gpu/kernels/stage_cut.h"

namespace volvox::gpu {

// What kernels of a stage that are made at load consist of (gpu/program/stage_source.h): the operations of
// pointwise.h, with programs and places known to the compiler. A thread computes several elements of one row
// at once, so that the row is looked up once for all of them and their loads are under way together.

// Elements of one row: first, first + row_threads, … below the width.
template <std::uint32_t kWidth>
struct StagePiece {
  static constexpr StageCut kCut = stage_cut(kWidth);
  static constexpr bool kWhole = kWidth % (kCut.row_threads * kCut.each) == 0;

  struct Values {
    std::uint64_t of[kCut.each];
  };

  Element e;
  std::uint32_t first;

  VOLVOX_KERNEL_BODY std::uint32_t element(std::uint32_t j) const { return first + j * kCut.row_threads; }
  VOLVOX_KERNEL_BODY bool has(std::uint32_t j) const { return kWhole || element(j) < kWidth; }

  // `number` finds what is not known before the load: where the place begins.
  VOLVOX_KERNEL_BODY Place whole_place(const Place& known, std::uint32_t number) const {
    Place place = known;
    place.base = at<const Place>(e.places)[number].base;
    return place;
  }
  VOLVOX_KERNEL_BODY Values load(const Place& known, std::uint32_t number) const {
    const Place place = whole_place(known, number);
    const std::uint64_t row = source_address(place, e);
    Values values;
    VOLVOX_UNROLL
    for (std::uint32_t j = 0; j < kCut.each; ++j) {
      values.of[j] = 0;
      if (row != 0 && has(j)) values.of[j] = load_element(place, row, element(j));
    }
    return values;
  }
  VOLVOX_KERNEL_BODY void store(const Place& known, std::uint32_t number, const Values& values) {
    const Place place = whole_place(known, number);
    if (place.kind != Place::Kind::kResult) {
      const std::uint64_t row = row_address(place, e);
      VOLVOX_UNROLL
      for (std::uint32_t j = 0; j < kCut.each; ++j) {
        if (has(j)) store_element(place, row, element(j), values.of[j]);
      }
      return;
    }
    for (std::uint32_t target = 0; target < kTargets; ++target) {
      const std::uint64_t row = target_address(place, e, target);
      if (row == 0) continue;
      VOLVOX_UNROLL
      for (std::uint32_t j = 0; j < kCut.each; ++j) {
        if (has(j)) store_result(place, row, element(j), values.of[j]);
      }
    }
  }
  VOLVOX_KERNEL_BODY Values compute(Instruction::Code code, const Values& a, const Values& b,
                                    const Values& c) const {
    Values values;
    VOLVOX_UNROLL
    for (std::uint32_t j = 0; j < kCut.each; ++j)
      values.of[j] = compute_element(code, a.of[j], b.of[j], c.of[j]);
    return values;
  }
  VOLVOX_KERNEL_BODY Values segment_sum(const Place& known, std::uint32_t number) const {
    const Place place = whole_place(known, number);
    const auto* begin = at<const std::uint32_t>(e.task->edge_begin) + e.row;
    float sums[kCut.each] = {};
    Element edge = e;
    for (edge.edge = begin[0]; edge.edge < begin[1]; ++edge.edge) {
      const std::uint64_t row = source_address(place, edge);
      VOLVOX_UNROLL
      for (std::uint32_t j = 0; j < kCut.each; ++j) {
        if (row != 0 && has(j)) sums[j] += float_of(load_element(place, row, element(j)));
      }
    }
    Values values;
    VOLVOX_UNROLL
    for (std::uint32_t j = 0; j < kCut.each; ++j) values.of[j] = bits_of(sums[j]);
    return values;
  }
  VOLVOX_KERNEL_BODY Values hash_all(const Place& known, std::uint32_t number, const Values& tokens) const {
    const Place place = whole_place(known, number);
    Values values;
    VOLVOX_UNROLL
    for (std::uint32_t j = 0; j < kCut.each; ++j) {
      Element one = e;
      one.k = element(j);
      values.of[j] = has(j) ? volvox::gpu::hash_all(place, one, tokens.of[j]) : 0;
    }
    return values;
  }
};

// Whom a program's run is shared by: a thread of a block, and all that there are.
struct StageThread {
  std::uint32_t thread, block, blocks;
};

// All elements of a program that are this thread's. `Program` has kWidth, kRagged, and run(piece).
template <class Program>
VOLVOX_KERNEL_BODY void run_stage(const PointwiseCall& call, const StageThread& me) {
  using Piece = StagePiece<Program::kWidth>;
  constexpr StageCut kCut = Piece::kCut;
  constexpr std::uint32_t kBlockPieces = kStageThreads / kCut.row_threads;
  const TaskHeader& task = current_task(call.queue);
  const std::uint32_t rows = Program::kRagged ? task.edges : call.rows;
  const std::uint64_t pieces = std::uint64_t{rows} * kCut.pieces;
  const std::uint32_t within = me.thread % kCut.row_threads;
  for (std::uint64_t i = std::uint64_t{me.block} * kBlockPieces + me.thread / kCut.row_threads; i < pieces;
       i += std::uint64_t{me.blocks} * kBlockPieces) {
    const auto row = static_cast<std::uint32_t>(i / kCut.pieces);
    const auto part = static_cast<std::uint32_t>(i % kCut.pieces);
    Piece piece{{&call.view, &task, call.places, call.scratch, row, 0, 0},
                part * kCut.row_threads * kCut.each + within};
    if (Program::kRagged) {
      piece.e.edge = row;
      piece.e.row = at<const std::uint32_t>(task.edge_rows)[row];
    }
    if (piece.has(0)) Program::run(piece);
  }
}

}  // namespace volvox::gpu
