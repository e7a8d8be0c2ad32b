#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "import/onnx/cell_writer.h"

namespace volvox::onnx_import {

// Where a value lies: a state of a lane, of the same row of the sequence or of the lane's last step.
struct StatePlace {
  std::size_t lane = 0;
  bool last = false;
  bool once = false;  // the lane has one step
  std::string state{};

  auto operator<=>(const StatePlace&) const = default;
};

// A graph over a sequence, written as one cell of one step, with the places of those of its values that lanes
// keep. Its gathers stand for such states, its pulls for inputs of the model: both are leaves of what is
// computed.
class StepGraph {
 public:
  // What a cell must read to have a value.
  struct Needs {
    std::set<std::pair<std::size_t, bool>> lanes{};  // and whether it is their last step
    std::set<std::uint32_t> inputs{};
    bool computes = false;  // more than to put together what lies in memory

    void add(const Needs& other);
    bool fit() const;
  };

  explicit StepGraph(std::shared_ptr<WeightBook> weights) : writer_(std::move(weights)) {}

  CellWriter& writer() { return writer_; }
  const CellWriter& writer() const { return writer_; }

  // A lane keeps the value from now on.
  void place(ValueId value, StatePlace place) { places_[value] = std::move(place); }
  const StatePlace* place_of(ValueId value) const;
  // What lies there, as a value.
  Quantity leaf(const StatePlace& place, const Shape& shape, DType dtype);
  bool is_leaf(ValueId value) const;
  // Whether it is other at every step.
  bool is_stepwise(ValueId value);

  // What the value is made of, in order, down to leaves and to where `stop` says.
  template <class Stop>
  std::vector<ValueId> closure(ValueId value, const Stop& stop) const {
    std::set<ValueId> open{value};
    std::vector<ValueId> found;
    while (!open.empty()) {
      const ValueId id = *open.rbegin();
      open.erase(id);
      found.push_back(id);
      if (is_leaf(id) || stop(id)) continue;
      const Operator& op = writer_.maker(id);
      open.insert(op.inputs.begin(), op.inputs.end());
    }
    return {found.rbegin(), found.rend()};
  }
  // By value, of all that this one is made of.
  std::map<ValueId, Needs> needs_below(ValueId value) const;
  Needs needs_of(ValueId value) const { return needs_below(value).at(value); }
  // The value's operator once more, over what its inputs have become, in this cell or in another one.
  Quantity remade(CellWriter& to, ValueId value, const std::map<ValueId, Quantity>& known) const;

 private:
  CellWriter writer_;
  std::map<ValueId, StatePlace> places_;
  std::map<StatePlace, Quantity> leaves_;
  std::vector<bool> stepwise_;  // by value
};

}  // namespace volvox::onnx_import
