#include "simulation/scheduled_node.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "batching/policy/policies.h"

namespace volvox {
namespace {

constexpr WorkerId kWorker = 0;
constexpr std::uint32_t kRing = 2;  // slots of a chain

LanePlan chain() {
  LaneSpec lane;
  lane.ring = kRing;
  lane.edges = {{0, 0, -1, 1, false, false, LaneEdge::kNone}};  // its own previous step
  return {0, {lane}};
}

std::unique_ptr<Scheduler> make_scheduler(const SimCost& cost) {
  SchedulerConfig config;
  config.types = {cost.type};
  config.pools = {{0, kReservedSlots + kRing * cost.max_requests}};
  config.models = {ModelConfig{}};
  config.max_live = cost.max_requests;
  auto policy = make_cellular_policy(config);
  return std::make_unique<Scheduler>(std::move(config), std::move(policy));
}

}  // namespace

ScheduledNode::ScheduledNode(const SimCost& cost, double speed, std::uint32_t routers)
    : cost_(cost),
      speed_(speed),
      plan_(chain()),
      scheduler_(make_scheduler(cost)),
      cells_of_(routers),
      rows_of_(routers) {}

void ScheduledNode::add(const SimRequest& sent, TimePoint now) {
  const std::uint32_t index = open_.take();
  open_[index] = sent;
  Request request;
  request.tag = index;
  request.arrival = now;
  request.plan = &plan_;
  request.lengths[0] = sent.cells;
  scheduler_->admit(std::move(request), now);
  cells_of_[sent.router] += sent.cells;
  ++rows_of_[sent.router];
  cells_left_ += sent.cells;
  submit(now);
}

void ScheduledNode::submit(TimePoint now) {
  formed_.clear();
  scheduler_->schedule(kWorker, now, formed_);
  for (BatchedTask& task : formed_) {
    const TimePoint begin = queue_.empty() ? now : std::max(now, queue_.back().end);
    const double ns = std::ceil(cost_.task_ns(task->rows) / speed_);
    queue_.push_back({std::move(task), begin + Duration(static_cast<Duration::rep>(ns))});
  }
}

void ScheduledNode::finished(TimePoint now, std::vector<SimRequest>& out) {
  while (!queue_.empty() && queue_.front().end <= now) {
    InFlight done = std::move(queue_.front());
    queue_.pop_front();
    const TimePoint end = done.end;
    complete(std::move(done), out);
    submit(end);
  }
}

void ScheduledNode::complete(InFlight done, std::vector<SimRequest>& out) {
  ++tasks_;
  cells_left_ -= done.task->rows;
  events_.clear();
  scheduler_->complete(kWorker, done.task->seq, done.end, events_);
  scheduler_->recycle(std::move(done.task));
  for (const Event& event : events_) {
    if (event.kind != Event::Kind::kDone) continue;
    const auto index = static_cast<std::uint32_t>(event.tag);
    const SimRequest& request = open_[index];
    cells_of_[request.router] -= request.cells;
    --rows_of_[request.router];
    out.push_back(request);
    open_.give_back(index);
  }
}

std::optional<TimePoint> ScheduledNode::next_end() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.front().end;
}

void ScheduledNode::clear(TimePoint) {
  scheduler_ = make_scheduler(cost_);
  queue_.clear();
  open_ = {};
  cells_left_ = 0;
  std::fill(cells_of_.begin(), cells_of_.end(), 0.0);
  std::fill(rows_of_.begin(), rows_of_.end(), 0U);
}

void ScheduledNode::set_speed(double speed, TimePoint) {
  speed_ = speed;
}

double ScheduledNode::cells_left(TimePoint) {
  return cells_left_;
}

double ScheduledNode::cells_of_others(std::uint32_t router, TimePoint) {
  return std::accumulate(cells_of_.begin(), cells_of_.end(), 0.0) - cells_of_[router];
}

std::uint32_t ScheduledNode::rows_of_others(std::uint32_t router) const {
  return std::accumulate(rows_of_.begin(), rows_of_.end(), 0U) - rows_of_[router];
}

double ScheduledNode::cell_ns() const {
  return cost_.task_ns(cost_.type.max_batch) / cost_.type.max_batch / speed_;
}

}  // namespace volvox
