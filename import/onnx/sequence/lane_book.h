#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/onnx/converted.h"
#include "import/onnx/sequence/lane_draft.h"
#include "import/onnx/sequence/pair_leaves.h"
#include "import/onnx/sequence/step_graph.h"
#include "import/onnx/sequence/written_lanes.h"

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

  LaneBook(const LaneBook&) = delete;
  LaneBook& operator=(const LaneBook&) = delete;

  CellWriter& graph() { return graph_.writer(); }

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

  // So many rows of a value in one, up to the one of each step, or from it on in `reverse`: that one is the
  // last, and those beyond the end of the sequence are zeros.
  Quantity rows_before(const Quantity& x, std::int64_t rows, bool reverse);
  // How many rows of each value are wanted at most, in the order in which they are asked for. A book that is
  // told what another one has found for the same graph keeps them once for all who want some.
  const std::vector<std::int64_t>& wanted_rows() const { return wanted_rows_; }
  bool keeps_rows_twice() const { return keeps_rows_twice_; }
  void plan_rows(std::vector<std::int64_t> wanted) { planned_rows_ = std::move(wanted); }

  // The number of each step, from 0: one of so many, so that no sequence may be longer.
  Quantity number_of_step(std::int64_t steps);
  // How many rows there are, of so many a step and without those that are missing at the end: a number.
  Quantity count(std::int64_t rows, std::int64_t missing);
  // Of each of so many rows of a step 1, or 0 where it is one of the last rows of the sequence, which are
  // missing.
  Quantity is_there(std::int64_t rows, std::int64_t missing);
  // The last row of a value that is there.
  Quantity last_there(const Quantity& x, std::int64_t missing);
  bool is_number_of_step(const Quantity& x) const;
  std::int64_t longest() const { return longest_; }

  // What an operator over a list makes of all rows of a value.
  Quantity over_all(const Quantity& x, std::string_view op);

  // What there is for each pair of steps.
  PairLeaves& pairs() { return pairs_; }
  // Attention of each step to all of them: Σ softmax(scores) · values, over what all steps have, a vector for
  // each head. `scores` are of a pair, a number for each head or one for all.
  Quantity attended(const Quantity& scores, const Quantity& values);

  // Σ softmax(scores over all steps) · values, by one lane that reads both of all steps.
  Quantity weighed_sum(const Quantity& scores, const Quantity& values);

  // A result of the model: x has the shape of a row of it.
  void output(const std::string& name, const Quantity& x, bool every);

  WrittenLanes finish() const { return write_lanes(drafts_, inputs_); }

 private:
  std::size_t add(const std::string& name, bool reverse, bool once);
  const Quantity& left();
  StatePlace place_in(std::size_t lane, const std::string& state, bool last = false) const;
  void settle(const Quantity& x, bool for_recurrence);
  void keep_what_others_compute(ValueId value);
  std::map<ValueId, std::size_t> computed_before(ValueId value, const std::vector<std::size_t>& lanes);
  void split_up(ValueId value);
  void put_together(ValueId value);
  std::size_t set_aside(const Quantity& x, bool reverse);
  void keep_aside(const Quantity& x);
  // A lane that reads both of all steps: what they are in its cell.
  struct AllRows {
    std::size_t lane = 0;
    std::vector<Quantity> values{};  // vectors of f32
  };
  AllRows read_all(const std::string& name, bool once, const std::vector<Quantity>& values);
  void settle_all(const std::vector<ValueId>& values);
  Quantity weighed(std::size_t lane, const Quantity& scores, const Quantity& values, const Shape& shape);
  Quantity keep_rows(const Quantity& x, std::int64_t rows, bool reverse);
  Quantity gathered(LaneDraft& draft, const StatePlace& place, const Quantity& as) const;
  Quantity pulled(LaneDraft& draft, const Operator& pull, const Quantity& as) const;
  void begin_with(std::size_t lane, const std::string& state, const Quantity& initial);
  Quantity end_of(ValueId value, SequenceEnd end);
  bool push_from_lane(const std::string& name, const Quantity& x, bool every);
  std::size_t head_for(const Quantity& x, bool every);

  std::shared_ptr<WeightBook> weights_;
  StepGraph graph_;
  PairLeaves pairs_{graph_};
  std::vector<std::unique_ptr<LaneDraft>> drafts_;
  std::vector<std::map<ValueId, Quantity>> brought_;  // by lane: values of the graph that its cell has
  std::map<std::pair<ValueId, SequenceEnd>, Quantity> ends_;
  std::vector<std::string> inputs_;
  std::map<std::string, std::size_t> names_;
  // Rows that a lane keeps of a value: of which, and how many.
  struct KeptRows {
    ValueId of = kNoValue;
    bool reverse = false;
    std::int64_t rows = 0;
    Quantity all{};
  };
  std::vector<KeptRows> kept_rows_;
  std::vector<std::int64_t> wanted_rows_, planned_rows_;  // by place in kept_rows_
  bool keeps_rows_twice_ = false;
  std::optional<Quantity> step_, left_;  // its number, and how many there are behind it
  std::int64_t longest_ = kMaxImportedLength;
  std::map<bool, std::size_t> heads_;  // lanes that emit what no other does: for every step, or once
};

}  // namespace volvox::onnx_import
