#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cells/ir/cell.h"
#include "cells/ir/lane_plan.h"
#include "cells/ir/weights.h"

namespace volvox {

// One cell type of a model, after compilation (the eager and core parts of a split cell are types of their
// own).
struct CellTypeSpec {
  std::string name{};  // "lstm", "lstm.eager"
  Cell cell{};
  PoolId out_pool = 0;  // numbers of pools within the model
  std::array<PoolId, kMaxGathers> gather_pools{};
  PoolId ragged_pool = 0;
  std::int32_t priority = 0;  // higher runs first: later cells (BatchMaker §4.3)
  std::uint32_t min_batch = 1, max_batch = 64;
  std::uint32_t max_edges = 1U << 16;  // ragged edges in one task
  bool independent = false;            // no node reads another of this type: steps of a lane may share a task
};

// States that are scattered together and so share slot numbers. Every model has at least one pool; that of a
// model without states holds no kinds.
struct PoolSpec {
  std::vector<StateKind> kinds{};
};

// One of the sequences along which requests unfold; each has a length of its own, by LaneSpec::length_of.
struct SequenceSpec {
  enum class Kind : std::uint8_t {
    kGiven,    // a request says how long it is
    kStopped,  // it ends with the step at which `stop` holds, or after as many as the request allows
    kOnce,     // one step, whatever the request is
  };
  // The row of the output, an i32, has this value; the lane writes it.
  struct Stop {
    std::uint8_t output = 0, lane = 0;
    std::int32_t value = 0;
  };

  std::string name{};
  Kind kind = Kind::kGiven;
  std::uint32_t min_length = 1;  // of one that is given
  std::uint32_t max_length = 4096;
  Stop stop{};
};

struct InputSpec {
  std::string name{};
  DType dtype = DType::kI32;
  Shape shape{};                // of one step
  std::int64_t vocabulary = 0;  // i32 inputs: ids are in [0, vocabulary); 0: any
  std::uint8_t sequence = 0;    // whose steps its rows are
};

struct OutputSpec {
  std::string name{};
  DType dtype = DType::kF32;
  Shape shape{};              // of one row
  bool every = false;         // a row for each step or node; otherwise one row, of the last step or the root
  std::uint8_t sequence = 0;  // whose steps, where it has a row for each
  // Rows, one for each step, are candidates for what was best; clients get the best path through them, an i32
  // for each step (best_path.h).
  bool path = false;
  // Those of the last so many steps are no answer: a convolution without pads, say, has no windows there.
  // Less than the min_length of its sequence.
  std::uint32_t fewer = 0;

  // Of an answer whose sequence has so many steps.
  std::size_t answered_rows(std::uint32_t steps) const { return every ? steps - std::min(fewer, steps) : 1; }
};

class Unfolding;

// One loaded model version: cells, unfolding, weights. Type, pool and model numbers are local (from 0);
// rebased_plan() makes them unique within a process. Immutable after load; shared by shared_ptr.
struct Model {
  std::string name{};
  std::uint32_t version = 1;
  std::uint64_t digest = 0;                      // of the definition and all weights
  std::shared_ptr<const Unfolding> unfolding{};  // cells/unfold/unfolding.h; never null in a loaded model
  std::uint32_t max_length = 4096;               // steps, or nodes, of one request
  std::vector<SequenceSpec> sequences{1};        // at least one; the nodes of a graph are one
  std::vector<PoolSpec> pools{};
  std::vector<CellTypeSpec> types{};
  LanePlan plan{};  // no lanes where requests unfold into nodes
  std::vector<InputSpec> inputs{};
  std::vector<OutputSpec> outputs{};
  Weights weights{};               // those of its file, and folded tables
  std::uint64_t folded_bytes = 0;  // of the latter
};

// The lengths of a request whose given sequences have `given` steps, as far as they may; those that stop by
// themselves have the most that they may have.
Lengths lengths_for(const Model& model, std::uint32_t given);
// Those of the longest request that it takes.
Lengths longest_lengths(const Model& model);

// Whether requests may end before their lengths.
bool stops_by_itself(const Model& model);

// Checks what everybody relies on: a valid plan, and that lanes, cells, pools, inputs and outputs agree. The
// error names the model. Loaded models have passed it.
Status validate(const Model& model);

// The model's plan with process-wide numbers.
LanePlan rebased_plan(const Model& model, ModelId id, CellTypeId first_type, PoolId first_pool);

}  // namespace volvox
