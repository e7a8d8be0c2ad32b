#include "simulation/flow_node.h"

#include <algorithm>
#include <cmath>

namespace volvox {

void FlowNode::advance(TimePoint now) {
  if (now <= at_) return;
  if (!running_.empty()) steps_ += static_cast<double>((now - at_).count()) / task_ns(running_.size());
  at_ = now;
}

void FlowNode::start(const SimRequest& request) {
  running_.push({steps_ + request.cells, started_++, request});
  ++rows_of_[request.router];
  cells_of_[request.router] += steps_;  // so that cells_of_ − steps · rows is what is left
}

void FlowNode::add(const SimRequest& request, TimePoint now) {
  advance(now);
  cells_of_[request.router] += request.cells;
  if (running_.size() < cost_.type.max_batch) {
    start(request);
  } else {
    waiting_.push_back(request);
  }
}

void FlowNode::finished(TimePoint now, std::vector<SimRequest>& out) {
  advance(now);
  constexpr double kRounding = 1e-6;  // of a step
  while (!running_.empty() && running_.top().end <= steps_ + kRounding) {
    const Running done = running_.top();
    running_.pop();
    --rows_of_[done.request.router];
    cells_of_[done.request.router] -= done.end;
    out.push_back(done.request);
    if (waiting_.empty()) continue;
    start(waiting_.front());
    waiting_.pop_front();
  }
}

std::optional<TimePoint> FlowNode::next_end() const {
  if (running_.empty()) return std::nullopt;
  const double left = std::max(0.0, running_.top().end - steps_) * task_ns(running_.size());
  return at_ + Duration(static_cast<Duration::rep>(std::ceil(left)));
}

void FlowNode::clear(TimePoint now) {
  advance(now);
  running_ = {};
  waiting_.clear();
  std::fill(cells_of_.begin(), cells_of_.end(), 0.0);
  std::fill(rows_of_.begin(), rows_of_.end(), 0U);
}

void FlowNode::set_speed(double speed, TimePoint now) {
  advance(now);
  speed_ = speed;
}

double FlowNode::cells_left(TimePoint now) {
  advance(now);
  double cells = 0;
  for (std::size_t i = 0; i < cells_of_.size(); ++i) cells += cells_of_[i] - steps_ * rows_of_[i];
  return std::max(0.0, cells);
}

double FlowNode::cells_of_others(std::uint32_t router, TimePoint now) {
  const double all = cells_left(now);
  return std::max(0.0, all - (cells_of_[router] - steps_ * rows_of_[router]));
}

std::uint32_t FlowNode::rows_of_others(std::uint32_t router) const {
  return static_cast<std::uint32_t>(running_.size()) - rows_of_[router];
}

}  // namespace volvox
