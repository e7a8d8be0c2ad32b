#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "batching/ready_queues.h"
#include "batching/request.h"

namespace volvox {

inline constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

// A lane of a live request: (request index, lane number) in one word.
using LaneRef = std::uint32_t;
inline constexpr LaneRef kNoLane = ~LaneRef{0};
inline constexpr LaneRef lane_ref(std::uint32_t request, LaneId lane) {
  return request * LanePlan::kMaxLanes + lane;
}
inline constexpr std::uint32_t request_of(LaneRef ref) {
  return ref / LanePlan::kMaxLanes;
}
inline constexpr LaneId lane_of(LaneRef ref) {
  return static_cast<LaneId>(ref % LanePlan::kMaxLanes);
}

// A lane while its request lives.
struct LaneRun {
  enum class State : std::uint8_t {
    kBlocked,  // waits for another lane of its request
    kQueued,   // ready, in a queue
    kCohort,   // in a row of a cohort: ready or running, step after step
    kEnded,    // its last step was submitted
  };
  State state = State::kBlocked;
  bool carried = false;                  // its slots are the caller's
  std::uint32_t base = 0, ring = 1;      // its slots
  std::uint32_t initial = kInitialSlot;  // what its step -1 is
  std::uint32_t length = 0;              // real steps
  std::uint32_t run_length = 0;          // steps that will run, padding included
  std::uint32_t cursor = 0;              // steps submitted, while not in a cohort
  std::uint64_t start = 0;               // in a cohort: steps submitted = cohort step - start
  std::uint32_t row = 0;                 // in a cohort
  EntryId entry = kNoEntry;              // in a queue
  std::uint32_t wake_at = kNever;        // when so many steps are submitted, blocked lanes look again
  std::uint64_t event_step = 0;          // in a cohort: the task after which it is looked at
  bool padded = false;                   // in a cohort, past its real length
  bool reported = false;                 // its steps make kStepDone events
};

inline constexpr std::uint32_t kNoNode = ~std::uint32_t{0};

// A node of a live graph request: four to a cache line, as thousands of requests are visited in turn.
struct NodeRun {
  enum class State : std::uint8_t { kOpen, kReady, kSubmitted };
  union {
    std::uint32_t open_predecessors = 0;  // kOpen: not submitted
    std::uint32_t next_ready;             // later: in its group's list
  };
  union {
    std::uint32_t open_readers = 0;  // not submitted
    std::uint32_t next_free;         // without any: in the request's list of slots that came free
  };
  std::uint32_t slot = kSinkSlot;
  std::uint16_t group = 0;  // of its type, in GraphRun::groups
  State state = State::kOpen;
  bool ahead = false;  // submitted before an earlier node, and its slot is live
};
static_assert(sizeof(NodeRun) == 16);

// Ready nodes of one type of a graph request: a list, first in, first out. Nodes that were taken out of order
// stay in it until they come up.
struct NodeGroup {
  CellTypeId type = 0;
  EntryId entry = kNoEntry;
  std::uint32_t head = kNoNode, tail = kNoNode;
  std::uint32_t count = 0;  // ready and not taken
};

// Records of requests keep room for so many nodes when they are used again; that of larger graphs goes with
// them.
inline constexpr std::uint32_t kKeptNodes = 1024;

// A node graph while its request lives.
struct GraphRun {
  // Slots: what the pool promised, what was taken of it (and is kept to the end: a slot that comes free when
  // its last reader is submitted may only be written by later tasks of the same queue, which are this
  // request's), and what holds a state.
  std::uint32_t reserved = 0, live_slots = 0;
  std::vector<std::uint32_t> taken;
  std::uint32_t first_free = kNoNode;  // the node whose slot came free last
  bool growable = false;
  bool opened = false;  // `nodes` is filled
  std::vector<NodeRun> nodes;
  std::vector<NodeGroup> groups;  // by type, as NodeGraph::types()
  std::uint32_t next = 0;         // the first node that is not submitted
  std::uint32_t ahead_count = 0;  // live slots of nodes past `next`
};

// A request from admission (or waiting) to its last event. Records are reused; `generation` tells lives
// apart.
struct LiveRequest {
  enum class State : std::uint8_t { kFree, kWaiting, kRunning };
  enum class Outcome : std::uint8_t { kNone, kCancelled, kExpired, kFailed };

  Request request;
  std::uint32_t generation = 0;
  State state = State::kFree;
  Outcome outcome = Outcome::kNone;
  bool is_graph = false;
  bool landed = true;
  bool started = false;   // a task with a row of it was submitted
  bool fixed = false;     // stays on its home worker (admit_group)
  bool draining = false;  // leaves its home worker as soon as nothing of it runs
  WorkerId home = kNoWorker;
  std::uint32_t cohort_rows = 0;  // lanes in cohorts
  TaskSeq last_seq = 0;           // the last task of `home` that held a row which has left since
  std::uint32_t open = 0;         // lanes, or nodes, whose last task is not done
  std::uint32_t pad_to = 0;
  TimePoint first_submit{};
  std::vector<LaneRun> lanes;
  GraphRun graph;
};

inline LaneId lane_count(const LiveRequest& live) {
  return static_cast<LaneId>(live.lanes.size());  // at most LanePlan::kMaxLanes
}

}  // namespace volvox
