#pragma once

#include <cstdint>

namespace volvox::gpu {

inline constexpr std::uint32_t kStageThreads = 256;
inline constexpr std::uint32_t kMostStageBlocks = 8192;  // those there are go on with what is left

// How the elements of rows of a width are dealt out.
struct StageCut {
  std::uint32_t row_threads;  // that share a row
  std::uint32_t each;         // elements that a thread has of it at once
  std::uint32_t pieces;       // of a row, one after the other
};
constexpr StageCut stage_cut(std::uint32_t width) {
  StageCut cut{1, 1, 1};
  while (cut.row_threads < width && cut.row_threads < kStageThreads) cut.row_threads *= 2;
  while (cut.each < 4 && cut.row_threads * cut.each * 2 < width) cut.each *= 2;
  const std::uint32_t piece = cut.row_threads * cut.each;
  cut.pieces = (width + piece - 1) / piece;
  return cut;
}
// Blocks that have all elements of so many rows at once.
constexpr std::uint64_t stage_blocks(std::uint32_t width, std::uint32_t rows) {
  const StageCut cut = stage_cut(width);
  const std::uint32_t block_pieces = kStageThreads / cut.row_threads;
  return (std::uint64_t{rows} * cut.pieces + block_pieces - 1) / block_pieces;
}

}  // namespace volvox::gpu
