#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cells/ir/cell.h"
#include "cells/ir/cell_program.h"
#include "cells/ir/evaluate.h"
#include "cells/ir/weights.h"
#include "device/device.h"

namespace volvox {

// How a batch goes through a device.
struct CellRun {
  std::uint32_t padded = 0;  // the size of the task; 0: as many as rows
  bool row_by_row = false;   // each row in a task of its own
  std::uint32_t max_batch = 128;
  std::uint32_t threads = 1;
};

// One batch of nodes of a cell with states h and perhaps c, a token as input and one result, with random
// states, predecessors and tokens: on a device, and row by row in the evaluator of cells/.
class CellBatch {
 public:
  CellBatch(const Cell& cell, const Weights& weights, std::uint32_t rows);

  // The results, row by row. The device must be new.
  std::vector<float> on_device(Device& device, const CellRun& run = {});
  // Which kernel that device chose.
  const std::string& kernel() const { return kernel_; }
  template <class Real, class Math>
  std::vector<Real> in_evaluator() const;

 private:
  static constexpr std::uint32_t kSources = 40;  // slots 2 … 41

  void add_row(std::uint32_t r);
  std::uint32_t any_source() { return kReservedSlots + static_cast<std::uint32_t>(random_() % kSources); }
  Cell maker() const;
  void make_states(Device& device, Queue& queue);
  DeviceAddress stage(Device& device, const void* bytes, std::size_t size);
  static void run(Queue& queue, const Task& task);

  Cell cell_;
  Weights weights_;
  std::mt19937 random_;
  std::size_t width_;
  std::vector<float> h_, c_;
  std::vector<std::int32_t> tokens_;
  std::vector<RowBinding> bindings_;
  std::vector<std::uint32_t> edges_;
  std::vector<std::unique_ptr<InputPages>> pages_;
  std::string kernel_;
};

template <class Real, class Math>
std::vector<Real> CellBatch::in_evaluator() const {
  const CellProgram program = CellProgram::make(cell_, weights_).value();
  CellEvaluator<Real, Math> evaluator(program);
  const std::vector<Real> h(h_.begin(), h_.end()), c(c_.begin(), c_.end());
  const auto state = [&](const Operator& op, std::uint32_t slot) {
    return (op.name == "h" ? h : c).data() + (slot - kReservedSlots) * width_;
  };
  std::vector<Real> results(bindings_.size() * width_), unused(width_);
  for (std::size_t r = 0; r < bindings_.size(); ++r) {
    CellRow row;
    std::vector<const void*> gathers, ragged;
    for (const Operator& op : cell_.operators) {
      if (op.is(kGatherOp)) gathers.push_back(state(op, bindings_[r].gathers[op.index].base));
      if (!op.is(kGatherAllOp)) continue;
      for (std::uint32_t e = 0; e < bindings_[r].ragged.count; ++e) {
        ragged.push_back(state(op, edges_[bindings_[r].ragged.begin + e]));
      }
    }
    const std::vector<void*> scatters(program.count(kScatterOp), unused.data());
    row.gathers = gathers;
    row.ragged = ragged;
    row.edges = bindings_[r].ragged.count;
    row.pulls[0] = &tokens_[r];
    row.scatters = scatters;
    row.pushes[0] = &results[r * width_];
    evaluator.run(row);
  }
  return results;
}

}  // namespace volvox
