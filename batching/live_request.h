#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "batching/graphs/graph_run.h"
#include "batching/lanes/lane_run.h"
#include "batching/request.h"

namespace volvox {

// A request from admission (or waiting) to its last event. Records are reused; `generation` tells lives
// apart. What every task asks lies in the first line of the cache, and in the first of `request`.
struct alignas(64) LiveRequest {
  enum class State : std::uint8_t { kFree, kWaiting, kRunning };
  enum class Outcome : std::uint8_t { kNone, kCancelled, kExpired, kFailed };

  std::uint32_t generation = 0;
  State state = State::kFree;
  Outcome outcome = Outcome::kNone;
  bool is_graph = false;
  bool landed = true;     // until then it is in no waiting room
  bool started = false;   // a task with a row of it was submitted
  bool fixed = false;     // stays on its home worker (admit_group)
  bool draining = false;  // leaves its home worker as soon as nothing of it runs
  WorkerId home = kNoWorker;
  std::uint32_t cohort_rows = 0;  // lanes in cohorts
  std::uint32_t open = 0;         // lanes, or nodes, whose last task is not done
  std::uint32_t burst = 0;        // with which it entered (ModelLoads)
  TaskSeq last_seq = 0;           // the last task of `home` that held a row which has left since
  TimePoint first_submit{};
  LaneRuns lanes;

  Request request;
  alignas(64) GraphRun graph;

  // The record's next life, which no earlier one has the generation of.
  void begin(Request&& next, std::uint32_t life) {
    request = std::move(next);
    generation = life;
    state = State::kWaiting;
    outcome = Outcome::kNone;
    is_graph = request.graph != nullptr;
    landed = request.inputs_landed;
    started = fixed = draining = false;
    home = kNoWorker;
    cohort_rows = open = 0;
    last_seq = 0;
    first_submit = TimePoint{};
  }
};

// Fetch what is asked of a request whose task is formed / is done / its lanes, for which the first must be
// there. Always inline: a function that only fetches has no effect that g++ knows, and would be left out.
[[gnu::always_inline]] inline void prefetch(const LiveRequest& live) {
  __builtin_prefetch(&live.home);
  __builtin_prefetch(&live.request.plan);
  __builtin_prefetch(&live.request.inputs);
  __builtin_prefetch(&live.request.outputs);
}
[[gnu::always_inline]] inline void prefetch_state(const LiveRequest& live) {
  __builtin_prefetch(&live.home);
}
[[gnu::always_inline]] inline void prefetch_lanes(const LiveRequest& live) {
  __builtin_prefetch(live.lanes.data());
}

inline LaneId lane_count(const LiveRequest& live) {
  return static_cast<LaneId>(live.lanes.size());  // at most LanePlan::kMaxLanes
}

}  // namespace volvox
