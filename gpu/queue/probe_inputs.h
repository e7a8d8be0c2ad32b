#pragma once

#include <array>
#include <cstdint>

#include "cells/ir/cell.h"
#include "cells/ir/weights.h"
#include "device/task.h"
#include "gpu/driver/driver.h"

namespace volvox::gpu {

// Inputs for tasks that are only timed. One hot line of memory, or zeros to multiply, would make a cell look
// cheaper than requests find it: each row has inputs of its own, random numbers, or ids all over the table
// that they choose rows of.
class ProbeInputs {
 public:
  // For as many rows. For loading.
  static Result<ProbeInputs> make(Driver& driver, const Cell& cell, const Weights& weights,
                                  std::uint32_t rows);

  // Gives the binding the inputs of row `row`, and where it spans several of the rows after it.
  void bind(RowBinding& binding, std::uint32_t row) const;

 private:
  struct Pull {
    DeviceMemory memory;
    std::uint32_t stride_bytes = 0;
  };

  static Status fill(Driver& driver, StreamId stream, const Pull& pull, std::uint32_t rows,
                     std::uint32_t ids);

  std::array<Pull, kMaxPulls> pulls_;
};

}  // namespace volvox::gpu
