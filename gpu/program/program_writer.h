#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cells/ir/cell.h"
#include "gpu/kernels/pointwise.h"

namespace volvox::gpu {

// Writes the instructions of one program, with as many numbers for values as it likes; finish() fits them
// into the registers that there are.
class ProgramWriter {
 public:
  using Number = std::uint32_t;

  Number load(std::uint16_t place) { return emit({Instruction::Code::kLoad, 0, 0, 0, 0, place}); }
  Number segment_sum(std::uint16_t place) {
    return emit({Instruction::Code::kSegmentSum, 0, 0, 0, 0, place});
  }
  Number hash_all(std::uint16_t place, Number token) {
    return emit({Instruction::Code::kHashAll, 0, token, 0, 0, place});
  }
  Number compute(Instruction::Code code, Number a, Number b = 0, Number c = 0) {
    return emit({code, 0, a, b, c, 0});
  }
  void store(std::uint16_t place, Number a) { emit({Instruction::Code::kStore, 0, a, 0, 0, place}); }

  // What has been computed before: (value, offset) of a cell's value.
  std::optional<Number> known(ValueId value, std::int64_t offset) const;
  void remember(ValueId value, std::int64_t offset, Number number) { known_[{value, offset}] = number; }

  // Nothing: it needs more than kRegisters at once.
  std::optional<std::vector<Instruction>> finish() const;

 private:
  struct Step {
    Instruction::Code code;
    Number out, a, b, c;
    std::uint16_t place;
  };
  Number emit(Step step);

  std::vector<Step> steps_;
  std::map<std::pair<ValueId, std::int64_t>, Number> known_;
};

// How many of a, b and c an instruction reads.
std::uint32_t operands_of(Instruction::Code code);

}  // namespace volvox::gpu
