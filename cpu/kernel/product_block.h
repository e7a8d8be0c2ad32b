#pragma once

#include <cstddef>
#include <cstdint>

namespace volvox::cpu {

// A product's columns are computed in blocks of a few groups of as many as a register has lanes: for an LSTM
// the gates i, f, g, o of so many units, for a plain product kPlainGroups groups in a row, in its last block
// as many as there are columns for.
inline constexpr std::size_t kPlainGroups = 4;
inline constexpr std::size_t kMaxGroups = 5;
inline constexpr std::size_t kMaxLanes = 16;  // of any instruction set

// Steps of k that are computed at a stretch, about: all rows of the block pass by the weights of one stretch
// before the next one begins; between stretches the accumulators are parked in memory, unchanged. The weights
// of a short one (of four groups of 16, 32 KiB) stay in the first cache meanwhile, those of a long one (256
// KiB) in the second.
inline constexpr std::size_t kShortStretch = 128;
inline constexpr std::size_t kLongStretch = 1024;

// What a fused kernel's step may read besides its product, and write.
inline constexpr std::size_t kMaxStepInputs = 4, kMaxStepOutputs = 4;

// The most rows of a block: what the parked accumulators of one thread have room for.
inline constexpr std::size_t kMaxBlockRows = 192;

// One operand: a pointer for each row of the task, to `width` floats of any alignment.
struct ProductTerm {
  const float* const* rows = nullptr;
  std::size_t width = 0;
};

// One column block × a range of rows of out = start + W0·x0 + W1·x1 …: the unit of work of a thread.
// Every output is one chain of fused multiply-adds, terms in order, ascending k, whatever the range.
// Plain data on purpose: the kernels are compiled for instructions that the caller may not have, so that
// nothing here may be an inline function with code of its own.
struct ProductBlock {
  const float* weights = nullptr;  // [sum of widths][groups][lanes]
  std::size_t groups = 0;  // of a plain product: 1 … kPlainGroups; otherwise as many as the step has
  const ProductTerm* terms = nullptr;
  std::size_t term_count = 0;
  // Where the chains start: bias[groups][lanes]; else row r's start[r][column + g·gate_stride + unit]; else
  // zero.
  const float* bias = nullptr;
  const float* const* start = nullptr;
  std::size_t column = 0;               // the block's first element in a row of `start` and of a result
  std::size_t gate_stride = 0;          // from one group to the next in there
  std::uint8_t valid[kMaxGroups] = {};  // columns of each group that exist
  std::size_t row_begin = 0, row_end = 0;
  float* scratch = nullptr;  // [row_end - row_begin][groups][lanes], this thread's own
  // What this thread will most likely compute next: a block's weights, or null, and its `column`.
  const float* upcoming = nullptr;
  std::size_t upcoming_column = 0;

  // A pointer for each row to what the step reads besides the product, and to what it writes; each step says
  // what is what (cpu/fused/NAME_step.h).
  const float* const* in[kMaxStepInputs] = {};
  float* const* out[kMaxStepOutputs] = {};
  std::size_t unit = 0;  // the block's first unit in there, where groups are gates
};

}  // namespace volvox::cpu
