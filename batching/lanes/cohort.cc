#include "batching/lanes/cohort.h"

#include <algorithm>
#include <utility>

namespace volvox {

std::uint32_t Cohort::join(LaneRef lane, PriorityClass priority) {
  ++active_total_;
  ++active_[static_cast<std::size_t>(priority)];
  while (!holes_.empty()) {
    const std::uint32_t hole = holes_.back();
    holes_.pop_back();
    if (hole < rows_.size() && rows_[hole] == kNoLane) {
      rows_[hole] = lane;
      return hole;
    }
  }
  rows_.push_back(lane);
  return static_cast<std::uint32_t>(rows_.size() - 1);
}

void Cohort::leave(std::uint32_t row, PriorityClass priority) {
  rows_[row] = kNoLane;
  holes_.push_back(row);
  --active_total_;
  --active_[static_cast<std::size_t>(priority)];
}

void Cohort::change_class(PriorityClass from, PriorityClass to) {
  --active_[static_cast<std::size_t>(from)];
  ++active_[static_cast<std::size_t>(to)];
}

std::uint64_t Cohort::note(LaneRef lane, std::uint64_t at) {
  at = std::min(at, step_ + kCalendar - 1);
  auto& day = calendar_[at % kCalendar];
  if (day.capacity() == 0 && !spare_.empty()) {
    day.swap(spare_.back());
    spare_.pop_back();
  }
  day.push_back(lane);
  return at;
}

void Cohort::take_due(std::uint64_t at, std::vector<LaneRef>& due) {
  auto& day = calendar_[at % kCalendar];
  due.assign(day.begin(), day.end());
  day.clear();
  if (day.capacity() > 0) spare_.push_back(std::exchange(day, {}));
}

}  // namespace volvox
