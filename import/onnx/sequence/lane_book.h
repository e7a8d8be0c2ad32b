#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cells/model/model_definition.h"
#include "import/onnx/sequence/lane_draft.h"

namespace volvox::onnx_import {

// Which step of a sequence.
enum class SequenceEnd : std::uint8_t { kFirst, kLast };

// The lanes that a graph over a sequence becomes. The graph as a whole is written as one cell, of one step,
// whose gathers stand for what lanes keep; cells of lanes take from it what they need: a recurrent one only
// what lies in memory already, and whatever else is to be computed first gets a lane of its own. So does what
// is computed of a whole sequence, once. Every function refuses what does not fit.
class LaneBook {
 public:
  explicit LaneBook(std::shared_ptr<WeightBook> weights) : weights_(std::move(weights)), graph_(weights_) {}

  CellWriter& graph() { return graph_; }

  // An input of the model: a row of it for each step.
  Quantity input(const std::string& name, DType dtype, const Shape& row);

  // A new lane that will read this value of the graph beside its own states, which then lies ready for it.
  std::size_t begin(const std::string& name, const std::vector<Quantity>& reads, bool reverse);
  LaneDraft& draft(std::size_t lane) { return *drafts_[lane]; }
  // A value of the graph, in the cell of the lane.
  Quantity bring(std::size_t lane, const Quantity& x);
  // The lane begins with this value of its state, which may be known, or of the end of other lanes. The cell
  // publishes `next`.
  void keep(std::size_t lane, const std::string& state, const Quantity& next,
            const std::optional<Quantity>& initial);
  // What the lane keeps, as a value of the graph.
  Quantity state_of(std::size_t lane, const std::string& state, bool last);
  // The row of a value at one end of the sequence.
  Quantity at_end(const Quantity& x, SequenceEnd end);

  // What an operator over a list makes of all rows of a value.
  Quantity over_all(const Quantity& x, std::string_view op);

  // A result of the model: x has the shape of a row of it.
  void output(const std::string& name, const Quantity& x, bool every);

  // What has been written, without lanes of which nothing comes out.
  struct Written {
    std::vector<CellDefinition> cells{};
    std::vector<LaneDefinition> lanes{};
    std::vector<SequenceDefinition> sequences{};
    std::vector<CellWriter::Weight> weights{};
    std::string report{};  // a line for each lane
  };
  Written finish() const;

 private:
  struct Needs {
    std::set<std::pair<std::size_t, bool>> lanes{};
    std::set<std::uint32_t> inputs{};
    bool computes = false;  // more than to put together what lies in memory

    void add(const Needs& other);
    bool fit() const;
  };

  std::size_t add(std::string name, bool reverse, bool once);
  bool is_stepwise(ValueId value);
  bool is_leaf(ValueId value) const;
  // What the value is made of, in order, down to leaves and to where `stop` says.
  template <class Stop>
  std::vector<ValueId> closure(ValueId value, const Stop& stop) const;
  std::map<ValueId, Needs> needs_below(ValueId value) const;
  void settle(const Quantity& x, bool for_recurrence);
  void split_up(ValueId value);
  std::size_t set_aside(const Quantity& x, bool reverse);
  Quantity leaf(StatePlace place, const Shape& shape, DType dtype);
  Quantity gathered(LaneDraft& draft, const StatePlace& place, const Quantity& as) const;
  Quantity remade(CellWriter& to, ValueId value, const std::map<ValueId, Quantity>& known) const;
  Quantity end_of(ValueId value, SequenceEnd end);
  void begin_with(std::size_t lane, const std::string& state, const Quantity& initial);
  bool push_from_lane(const std::string& name, const Quantity& x, bool every);
  std::size_t head_for(const Quantity& x, bool every);
  std::vector<std::size_t> read_by(std::size_t lane) const;
  std::set<std::size_t> live() const;
  std::vector<std::size_t> in_order() const;

  std::shared_ptr<WeightBook> weights_;
  CellWriter graph_;
  std::vector<std::unique_ptr<LaneDraft>> drafts_;
  std::vector<std::map<ValueId, Quantity>> brought_;  // by lane: values of the graph that its cell has
  std::map<ValueId, StatePlace> places_;              // values of the graph that lanes keep
  std::map<StatePlace, Quantity> leaves_;
  std::vector<bool> stepwise_;  // by value: other at every step
  std::map<std::pair<ValueId, SequenceEnd>, Quantity> ends_;
  std::vector<std::string> inputs_;
  std::map<std::string, std::size_t> names_;
  std::map<bool, std::size_t> heads_;  // lanes that emit what no other does: for every step, or once
};

inline constexpr const char* kOnceSequence = "once";

}  // namespace volvox::onnx_import
