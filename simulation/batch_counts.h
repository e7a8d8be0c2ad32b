#pragma once

#include <cstdint>
#include <vector>

#include "cells/ir/types.h"
#include "cells/unfold/reference_order.h"

namespace volvox {

// The cells of several requests as one graph, predecessors first.
class CellDag {
 public:
  // One request more: its cells as the reference orders them.
  void add(const ReferenceOrder& request);

  std::uint32_t size() const { return static_cast<std::uint32_t>(types_.size()); }
  CellTypeId type(std::uint32_t cell) const { return types_[cell]; }
  CellTypeId types() const { return type_count_; }  // they are numbered below this
  // f(p) for each predecessor p of the cell.
  template <class F>
  void for_predecessors(std::uint32_t cell, F f) const {
    for (std::uint32_t i = first_[cell]; i < first_[cell + 1]; ++i) f(predecessors_[i]);
  }
  // How many cells come one after the other before each; 0 without a predecessor.
  std::vector<std::uint32_t> depths() const;

 private:
  std::vector<CellTypeId> types_;
  std::vector<std::uint32_t> first_{0}, predecessors_;
  CellTypeId type_count_ = 0;
};

// In how many batches of any size different ways of batching run all cells of a graph, a batch being of one
// type. What ED-Batch compares (ICML'23, Figure 9).

// Cells of one type and one depth share a batch (TensorFlow Fold; ED-Batch §2).
std::uint64_t depth_batches(const CellDag& dag);
// Next come all ready cells of the type whose cells, of those that are left, lie least deep on average
// (DyNet's agenda; ED-Batch §2).
std::uint64_t agenda_batches(const CellDag& dag);
// Nothing needs fewer: of each type as many as one path has at most (ED-Batch §A.3).
std::uint64_t fewest_batches(const CellDag& dag);

}  // namespace volvox
