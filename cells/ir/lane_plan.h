#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "cells/ir/types.h"

namespace volvox {

// Where the step t of a lane finds one predecessor: step `offset + stride·t` of lane `from`, where `from_end`
// counts the offset from the last step of that lane (n-1). A step before 0 reads the initial value.
//   own previous step {self, -1, +1}; same step of another lane {l, 0, +1}; reversed {l, 0, -1, from_end};
//   the last step of an encoder {e, 0, 0, from_end}.
struct LaneEdge {
  std::uint8_t gather = 0;  // which gather of the cell; ignored when `all`
  std::uint8_t from = 0;    // lane of the same plan, may be the lane itself
  std::int32_t offset = 0;
  std::int8_t stride = 1;  // -1, 0 or +1
  bool from_end = false;
  bool all = false;  // the ragged list: every step of `from`, which must keep its whole length
  // What a step before 0 of this edge reads instead of the initial value: the last step of that lane.
  // (A decoder's first step takes the encoder's last state.) kNone: the initial value.
  static constexpr std::uint8_t kNone = 255;
  std::uint8_t before_first = kNone;
};

// Which of the request's inputs a cell's pull reads, and which of its outputs a cell's push writes.
struct LanePush {
  static constexpr std::uint8_t kNowhere = 255;
  std::uint8_t output = kNowhere;
  bool every = false;  // every step writes its own row of the output; otherwise only the last step writes it
};

// A lane of a plan: a run of nodes of one cell type in a line (docs/architecture.md).
struct LaneSpec {
  CellTypeId type = 0;
  std::uint8_t length_of = 0;  // which of the request's lengths this lane has
  bool until_stopped = false;  // the length is an upper bound; Scheduler::stop() ends it earlier
  bool reversed = false;       // step t reads and writes row n-1-t of the request's inputs and outputs
  // Slots that the lane rotates through: step t publishes in slot t mod ring. 2 for a chain that only itself
  // and its results read; a window for eager lanes; 0 for the whole length.
  std::uint32_t ring = 2;
  PoolId pool = 0;        // where its states live
  bool has_state = true;  // false: scatters nothing, needs no slots
  // Of a lane that follows others: its steps may wait for each other, to run together (LaneOrder::may_wait).
  bool may_wait = false;
  std::vector<LaneEdge> edges{};
  std::array<std::uint8_t, kMaxPulls> pulls{};  // input of the request that the cell's pull i reads, row t
  std::array<LanePush, kMaxPushes> pushes{};
};

// How the requests of one model unfold into lanes: fixed at load, shared by all its requests.
// A request adds only its lengths.
struct LanePlan {
  static constexpr std::size_t kMaxLanes = 64;
  static constexpr std::size_t kMaxLengths = 4;

  ModelId model = 0;
  std::vector<LaneSpec> lanes;

  // Checks what the scheduler relies on: lanes and edges in range, at most kMaxGathers, no cycle within one
  // step, and a ring that every reader's distance allows. The error names the lane.
  Status validate() const;
};

// Of a request, by LaneSpec::length_of. A graph of nodes has one, their number.
using Lengths = std::array<std::uint32_t, LanePlan::kMaxLengths>;

}  // namespace volvox
