#include "batching/core.h"

namespace volvox {

// What the passing of time alone does to requests: they expire, and they grow older.

bool Scheduler::Core::is_live(RequestId id) const {
  const LiveRequest& live = requests_[id.index];
  return live.generation == id.generation && live.state != LiveRequest::State::kFree &&
         live.outcome == LiveRequest::Outcome::kNone;
}

void Scheduler::Core::set_clocks(std::uint32_t index) {
  const LiveRequest& live = requests_[index];
  const RequestId id{index, live.generation};
  const auto still_live = [this](RequestId other) { return is_live(other); };
  if (live.request.deadline != TimePoint::max()) {
    deadlines_.add(live.request.deadline, id, live_, still_live);
  }
  if (config_.age > Duration::zero() && live.request.priority != PriorityClass::kHigh) {
    ageing_.add(now_ + config_.age, id, live_, still_live);
  }
}

void Scheduler::Core::expire(TimePoint now, std::vector<Event>& out) {
  now_ = now;
  const std::size_t before = out.size();
  deadlines_.take_due(
      now, [this](RequestId id) { return is_live(id); },
      [&](RequestId id) { end_early(id, LiveRequest::Outcome::kExpired, out); });
  if (out.size() > before) admit_waiting();
}

void Scheduler::Core::grow_older() {
  if (config_.age == Duration::zero()) return;
  const auto still_live = [this](RequestId id) { return is_live(id); };
  ageing_.take_due(now_, still_live, [&](RequestId id) {
    raise(id.index);
    if (requests_[id.index].request.priority == PriorityClass::kHigh) return;
    ageing_.add(now_ + config_.age, id, live_, still_live);
  });
}

// Lets the request compete one class higher, wherever it is.
void Scheduler::Core::raise(std::uint32_t index) {
  LiveRequest& live = requests_[index];
  const PriorityClass old = live.request.priority;
  const auto higher = static_cast<PriorityClass>(static_cast<std::uint8_t>(old) - 1);
  if (live.state == LiveRequest::State::kWaiting) {
    if (policy_watches_) policy_->on_left(describe(index));
    live.request.priority = higher;
    rooms_.change_class(index, higher);
    if (policy_watches_) policy_->on_waiting(describe(index));
    return;
  }
  live.request.priority = higher;
  if (live.is_graph) {
    for (const NodeGroup& group : live.graph.groups) {
      if (group.entry != kNoEntry) queues_.change_class(group.entry, higher);
    }
    return;
  }
  for (LaneId l = 0; l < lane_count(live); ++l) {
    const LaneRun& run = live.lanes[l];
    if (run.entry != kNoEntry) queues_.change_class(run.entry, higher);
    if (run.state == LaneRun::State::kCohort) cohort_of(lane_ref(index, l)).change_class(old, higher);
  }
}

std::optional<TimePoint> Scheduler::Core::next_wakeup() const {
  const auto policy = policy_->next_wakeup();
  const auto deadline = deadlines_.next();
  if (!policy || !deadline) return policy ? policy : deadline;
  return std::min(*policy, *deadline);
}

}  // namespace volvox
