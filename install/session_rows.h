#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "batching/request.h"
#include "cells/ir/lane_plan.h"

namespace volvox {

// The state of a session must stay on the device between its parts, where no request may take its rows, and
// no part may write the state that it started from: it may fail, and then that state still counts. So a
// model's pools have rows for sessions behind those that requests share: of slots, two for each session that
// may be there. A part reads its first state in one and leaves its last in another, and nothing is ever
// copied; a session of which nothing runs needs one. Of a lane that rotates through two rows, as a chain
// does, a slot is one row, and a place has a third besides, which only parts of several steps use: they
// rotate through it and the slot into which they run, in the order in which their last step is written there.
// The third rows lie behind the slots, so that sessions of one-step parts, as live calls are, never touch
// their memory. Of a lane with more rows, a slot is as many as it rotates through.
struct SessionRows {
  struct Lane {
    LaneId lane = 0;
    PoolId pool = 0;
    std::uint32_t first = 0;  // row of slot 0
    std::uint32_t ring = 1;   // rows that the lane rotates through
  };

  bool possible = false;     // the model can be run in parts
  std::uint32_t places = 0;  // sessions that can have a state on the device at once; half as many as slots
  std::vector<Lane> lanes;
};

// Where the state after a part of `steps` steps is.
struct CarriedState {
  std::uint32_t slot = 0;
  std::uint32_t steps = 1;  // at least 1
};

// The lanes whose last state is all that later steps need of the earlier ones. Nothing when the plan's steps
// cannot be run in parts: some lane reads ahead, from the end or further back, or ends when it likes; or the
// plan has no lanes, for requests unfold into nodes.
std::optional<std::vector<LaneId>> carried_lanes(const LanePlan& plan);

// Rows for each place of a lane that rotates through `ring`.
std::uint32_t rows_per_place(std::uint32_t ring);
// The first of a slot, and how many it is; and the third row of a place, of a lane that has them.
std::uint32_t first_row(const SessionRows::Lane& lane, std::uint32_t slot);
std::uint32_t rows_per_slot(std::uint32_t ring);
std::uint32_t third_row(const SessionRows& rows, const SessionRows::Lane& lane, std::uint32_t place);
bool has_third_row(std::uint32_t ring);

// The row of each lane's state, in the order of `rows.lanes`.
std::uint32_t row_of(const SessionRows::Lane& lane, const CarriedState& state);

// Makes the request, a plan's with its lengths, a part that goes on from `from` (nothing: from the initial
// state) and runs into another slot, `into`. Nobody else may use these, nor the place, meanwhile. Its state
// is then {into, steps of the request}.
void carry(const SessionRows& rows, const std::optional<CarriedState>& from, std::uint32_t into,
           std::uint32_t place, Request& request);

}  // namespace volvox
