#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <vector>

#include "simulation/sim_node.h"

namespace volvox {

// Cellular batching as far as placement can see it. All requests in the batch advance by one cell with each
// task, the more rows the slower; a request joins at once while there is room, and leaves after its last
// cell. Tasks are not simulated one by one: between two changes of the batch all rows advance evenly.
// O(log rows) a request, however long it is.
class FlowNode : public SimNode {
 public:
  FlowNode(const SimCost& cost, double speed, std::uint32_t routers)
      : cost_(cost), speed_(speed), cells_of_(routers), rows_of_(routers) {}

  void add(const SimRequest& request, TimePoint now) override;
  void finished(TimePoint now, std::vector<SimRequest>& out) override;
  std::optional<TimePoint> next_end() const override;
  void clear(TimePoint now) override;
  void set_speed(double speed, TimePoint now) override;

  double cells_left(TimePoint now) override;
  double cells_of_others(std::uint32_t router, TimePoint now) override;
  std::uint32_t rows_of_others(std::uint32_t router) const override;
  double cell_ns() const override { return task_ns(cost_.type.max_batch) / cost_.type.max_batch; }
  std::uint32_t waiting() const { return static_cast<std::uint32_t>(waiting_.size()); }

 private:
  struct Running {
    double end = 0;  // in steps
    std::uint64_t order = 0;
    SimRequest request;
    bool operator>(const Running& other) const {
      return end != other.end ? end > other.end : order > other.order;
    }
  };

  double task_ns(std::size_t rows) const { return cost_.task_ns(static_cast<std::uint32_t>(rows)) / speed_; }
  void advance(TimePoint now);
  void start(const SimRequest& request);

  SimCost cost_;
  double speed_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::deque<SimRequest> waiting_;
  // By router: the cells that its requests have yet to run; of running ones, counted from step 0.
  std::vector<double> cells_of_;
  std::vector<std::uint32_t> rows_of_;
  double steps_ = 0;  // tasks so far
  TimePoint at_{};
  std::uint64_t started_ = 0;
};

}  // namespace volvox
