#pragma once

#include <cstdint>
#include <limits>

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

}  // namespace volvox
