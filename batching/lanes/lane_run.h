#pragma once

#include <cstddef>
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

// A lane while its request lives. Fills a line of the cache: a scheduler with thousands of requests waits for
// lines, not for its own arithmetic.
struct alignas(64) LaneRun {
  enum class State : std::uint8_t {
    kBlocked,  // waits for another lane of its request
    kQueued,   // ready, in a queue
    kCohort,   // in a row of a cohort: ready or running, step after step
    kEnded,    // its last step was submitted
  };
  State state = State::kBlocked;
  bool carried = false;                  // its slots are the caller's
  bool padded = false;                   // in a cohort, past its real length
  bool reported = false;                 // its steps make kStepDone events
  std::uint32_t base = 0, ring = 1;      // its slots: slot_in_turn
  std::int32_t step = 1;                 // from one slot to the next
  std::uint32_t initial = kInitialSlot;  // what its step -1 is
  std::uint32_t length = 0;              // real steps
  std::uint32_t run_length = 0;          // steps that will run, padding included
  std::uint32_t cursor = 0;              // steps submitted, while not in a cohort
  std::uint32_t row = 0;                 // in a cohort
  EntryId entry = kNoEntry;              // in a queue
  std::uint32_t wake_at = kNever;        // when so many steps are submitted, blocked lanes look again
  std::uint64_t start = 0;               // in a cohort: steps submitted = cohort step - start
  std::uint64_t event_step = 0;          // in a cohort: the task after which it is looked at
};
static_assert(sizeof(LaneRun) == 64);

// Those of a request. Most requests have one, which lies where the request does: no pointer leads to it.
class LaneRuns {
 public:
  std::size_t size() const { return size_; }
  // What lanes there were is lost where that takes more room.
  void resize(std::size_t size) {
    size_ = size;
    if (size > 1) more_.resize(size);
  }
  LaneRun* data() { return size_ > 1 ? more_.data() : &one_; }
  const LaneRun* data() const { return size_ > 1 ? more_.data() : &one_; }
  LaneRun& operator[](std::size_t lane) { return data()[lane]; }
  const LaneRun& operator[](std::size_t lane) const { return data()[lane]; }
  LaneRun* begin() { return data(); }
  LaneRun* end() { return data() + size_; }
  const LaneRun* begin() const { return data(); }
  const LaneRun* end() const { return data() + size_; }

 private:
  LaneRun one_;
  std::size_t size_ = 0;
  std::vector<LaneRun> more_;
};

}  // namespace volvox
