#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "batching/lanes/lane_run.h"
#include "device/task.h"

namespace volvox {

// Lanes of one type on one worker that step together, task after task, in the same rows: a step costs only
// what its joiners and leavers cost (docs/architecture.md). The cohort keeps the rows, the changes that the
// device's row table must make, and a calendar of the tasks after which a lane needs a look (its end, or the
// end of what is known to be ready). Not thread-safe; knows lanes by reference only.
class Cohort {
 public:
  // The number of the next task. Starts high, so that `step - steps done` never wraps.
  std::uint64_t step() const { return step_; }
  void advance() { ++step_; }

  std::uint32_t active() const { return active_total_; }
  std::uint32_t active(PriorityClass priority) const { return active_[static_cast<std::size_t>(priority)]; }
  const std::vector<LaneRef>& rows() const { return rows_; }  // kNoLane where a lane has left

  // Takes the row of a leaver, or a new one.
  std::uint32_t join(LaneRef lane, PriorityClass priority);
  void leave(std::uint32_t row, PriorityClass priority);
  void change_class(PriorityClass from, PriorityClass to);  // of one lane
  // Closes the gaps that no joiner took: the last rows move there. Appends the changes and calls
  // moved(lane, row) for each.
  template <class Moved>
  void compact(std::vector<RowChange>& changes, Moved moved);

  // Look at the lane when task `at` has been formed. A lane far ahead is looked at early.
  std::uint64_t note(LaneRef lane, std::uint64_t at);
  // Puts into `due` the lanes noted for task `at`, stale ones included; the caller compares
  // LaneRun::event_step. They are copied: with the memory itself, which comes back by way of another cohort,
  // one that notes much would always need more and one that notes nothing would keep it.
  void take_due(std::uint64_t at, std::vector<LaneRef>& due);

  TaskSeq last_seq = 0;  // of its last task
  TimePoint last_formed{};
  std::uint32_t padding_lanes = 0;  // past their real length
  std::uint32_t reported = 0;       // lanes whose every step is reported
  std::uint64_t edges = 0;          // that its lanes list at each step

 private:
  static constexpr std::size_t kCalendar = 256;

  std::uint64_t step_ = std::uint64_t{1} << 32;
  std::vector<LaneRef> rows_;
  std::vector<std::uint32_t> holes_;
  std::uint32_t active_total_ = 0;
  std::array<std::uint32_t, kPriorityClasses> active_{};
  std::array<std::vector<LaneRef>, kCalendar> calendar_;
  // Memory of days that are over, for the next that is noted: most days have nothing while lanes are short,
  // and would keep the memory of their fullest for ever.
  std::vector<std::vector<LaneRef>> spare_;
};

template <class Moved>
void Cohort::compact(std::vector<RowChange>& changes, Moved moved) {
  for (std::uint32_t hole : holes_) {
    while (!rows_.empty() && rows_.back() == kNoLane) rows_.pop_back();
    if (hole >= rows_.size() || rows_[hole] != kNoLane) continue;
    const auto last = static_cast<std::uint32_t>(rows_.size() - 1);
    rows_[hole] = rows_[last];
    rows_.pop_back();
    changes.push_back({hole, last, 0});
    moved(rows_[hole], hole);
  }
  holes_.clear();
}

}  // namespace volvox
