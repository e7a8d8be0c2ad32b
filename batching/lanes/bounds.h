#pragma once

#include <algorithm>
#include <cstdint>

#include "cells/ir/lane_plan.h"

namespace volvox {

// How one lane of a request stands.
struct LaneProgress {
  std::uint32_t done = 0;        // steps submitted
  std::uint32_t length = 0;      // real steps
  std::uint32_t run_length = 0;  // steps that will run, padding included
  std::uint32_t ring = 1;        // slots that its steps rotate through
};

// How far a lane may go before another lane of its request must move.
struct LaneBound {
  std::uint32_t allowed = 0;  // steps that may have been submitted
  std::uint8_t blocker = LaneEdge::kNone;
  std::uint32_t needed = 0;  // steps that the blocker must have submitted, for the lane to reach its target

  // At most so many, until `lane` has submitted `lane_needs` steps.
  void limit(std::int64_t at_most, std::uint8_t lane, std::int64_t lane_needs) {
    if (at_most >= allowed) return;
    allowed = static_cast<std::uint32_t>(std::max<std::int64_t>(at_most, 0));
    blocker = lane;
    needed = static_cast<std::uint32_t>(std::max<std::int64_t>(lane_needs, 1));
  }
};

// What the edge lets the lane `reader` submit: all of a queue's tasks run in order, so a step may be
// submitted when what it reads was. `target`: how many steps the reader would like to have submitted.
template <class Progress>
void limit_by_producer(LaneBound& bound, std::uint8_t reader, const LaneEdge& edge, std::uint32_t target,
                       Progress& progress) {
  if (edge.before_first != LaneEdge::kNone) {
    const LaneProgress before = progress(edge.before_first);
    if (before.done < before.run_length) bound.limit(0, edge.before_first, before.run_length);
  }
  if (edge.from == reader) return;  // its own earlier steps
  const LaneProgress from = progress(edge.from);
  if (from.done >= from.run_length) return;
  const std::int64_t first = edge.offset + (edge.from_end ? std::int64_t{from.length} - 1 : 0);
  if (edge.all) {
    bound.limit(0, edge.from, from.run_length);
  } else if (edge.stride > 0) {  // step t reads first + t
    bound.limit(from.done - first, edge.from, std::min<std::int64_t>(target + first, from.run_length));
  } else if (first >= from.done) {  // step 0 reads the latest
    bound.limit(0, edge.from, first + 1);
  }
}

// What a reader of `lane` lets it submit: a slot may be written again when all have read it that will. Step s
// is read by the reader's step s - (offset …), and its slot is written again by step s + ring.
template <class Progress>
void limit_by_reader(LaneBound& bound, const LaneProgress& lane, std::uint8_t reader, const LaneEdge& edge,
                     std::uint32_t target, Progress& progress) {
  if (edge.all || edge.stride <= 0) return;  // it keeps its whole length, or all that is read: its last step
  const LaneProgress by = progress(reader);
  if (by.done >= by.run_length) return;  // it reads no more
  const std::int64_t ahead =
      std::int64_t{lane.ring} + edge.offset + (edge.from_end ? std::int64_t{lane.length} - 1 : 0);
  // The first steps overwrite nothing.
  bound.limit(std::max(by.done + ahead, std::int64_t{lane.ring}), reader, std::int64_t{target} - ahead);
}

// How many steps of the lane may have been submitted as the other lanes of its request stand: what it reads
// must have been submitted, and a slot that it writes again must have been read. `blocker` and `needed` are
// for `want` steps more than it has. progress(lane) → LaneProgress. Pure.
template <class Progress>
LaneBound lane_bound(const LanePlan& plan, std::uint8_t lane, std::uint32_t want, Progress progress) {
  const LaneSpec& spec = plan.lanes[lane];
  const LaneProgress own = progress(lane);
  LaneBound bound{own.run_length, LaneEdge::kNone, 0};
  const std::uint32_t target = own.done + want;
  for (const LaneEdge& edge : spec.edges) limit_by_producer(bound, lane, edge, target, progress);
  if (plan.lanes.size() == 1 || own.ring >= own.run_length || !spec.has_state) return bound;
  for (std::uint8_t reader = 0; reader < plan.lanes.size(); ++reader) {
    if (reader == lane) continue;
    for (const LaneEdge& edge : plan.lanes[reader].edges) {
      if (edge.from == lane) limit_by_reader(bound, own, reader, edge, target, progress);
    }
  }
  return bound;
}

}  // namespace volvox
