#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "cells/ir/convolution.h"
#include "cpu/cells/packing.h"
#include "cpu/kernel/kernels.h"

namespace volvox::cpu {

// How a convolution goes through its results: so many rows at once, and of each so many positions.
struct ConvolutionPlan {
  // A conv1d without gaps reads its windows where they lie, the channels of an element side by side; whatever
  // else there is copies them.
  bool in_place = false;
  std::size_t rows = 1, positions = 1;
};
ConvolutionPlan plan_convolution(const Convolution& convolution);

// Which ends of a convolution are turned: see find_turned().
struct TurnedEnds {
  bool input = false, output = false;
};

// Floats that a thread needs for the largest of a cell's convolutions.
struct ConvolutionRoom {
  std::size_t windows = 0;   // how many at once
  std::size_t operands = 0;  // of them, or of the inputs with the channels side by side
  std::size_t products = 0;

  void include(const Convolution& convolution, const Mirror& mirror, TurnedEnds turned);
};

// One thread's memory for it, kept from task to task.
struct ConvolutionScratch {
  Status prepare(const ConvolutionRoom& room);

  AlignedBuffer operands, products;
  std::vector<const float*> windows;
  std::vector<float*> out, halves;
};

// A convolution as products of windows with its kernels, group by group: the windows of many rows together,
// so that weights are read once for all of them. What lies outside of a row is not multiplied, or a zero in
// its place. Kernels that mirror themselves are multiplied with the sums of their pairs of taps, or with the
// differences; twins are added up of both phases of their taps.
class Convolver {
 public:
  // `parked`: see multiply_rows(). All must outlive it.
  Convolver(const Kernels& kernels, const Convolution& convolution, const PackedConvolution& packed,
            TurnedEnds turned, ConvolutionScratch& scratch, float* parked);

  // Rows of x, [channels, height, width] each, to rows of out that are `stride` floats apart; those that are
  // turned lie so.
  void run(const float* const* x, std::size_t rows, float* out, std::size_t stride);

 private:
  // Results [begin, end) of rows of the same window: the taps [first, last) lie in x, the first at element
  // `at` of the first result.
  struct Run {
    std::size_t begin = 0, end = 0;
    std::size_t first = 0, last = 0, at = 0;
  };
  Run run_from(std::size_t position, std::size_t end) const;
  void multiply_block(const float* const* x, std::size_t rows, std::size_t group);
  void turn_inputs(const float* const* x, std::size_t rows, std::size_t group);
  void multiply(const float* const* x, std::size_t rows, std::size_t group, const Run& run);
  void point_at(const float* const* x, std::size_t rows, std::size_t group, const Run& run);
  void point_at_results(std::size_t rows, std::size_t begin, std::size_t each, std::size_t kernel = 0);
  void reflect_inputs(const float* const* x, std::size_t rows);
  void multiply_folded(std::size_t rows);
  void fold_windows(std::size_t count, float* sums, float* differences);
  void multiply_twins(const PackedProduct& product, const float* numbers, std::size_t kernel,
                      std::size_t kernels, std::size_t count);

  std::size_t channels() const { return static_cast<std::size_t>(c_.group_channels()); }
  std::size_t elements() const { return static_cast<std::size_t>(c_.height * c_.width); }
  std::size_t group_kernels() const { return static_cast<std::size_t>(c_.group_kernels()); }
  std::size_t positions() const { return static_cast<std::size_t>(c_.positions()); }

  const Kernels& kernels_;
  const Convolution& c_;
  const ConvolutionPlan plan_;
  const PackedConvolution& packed_;
  const bool turns_inputs_, writes_results_;
  ConvolutionScratch& scratch_;
  float* parked_;
  // Of the block under way: its results [first_, first_ + block_) of each row, and where those of a group
  // lie.
  std::size_t first_ = 0, block_ = 0;
  float* out_ = nullptr;
  std::size_t stride_ = 0;
};

}  // namespace volvox::cpu
