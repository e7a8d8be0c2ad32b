#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <vector>

#include "base/time.h"
#include "routing/attempts.h"

namespace volvox {

// What a simulated node computes with: a task of r rows takes (task_us + row_us · r) / speed.
struct SimCost {
  double task_us = 0, row_us = 0;
  std::uint32_t max_rows = 1;
};

struct SimRequest {
  std::uint32_t router = 0;
  AttemptId attempt;
  std::uint32_t cells = 0;
};

// A node in virtual time: cellular batching as far as placement can see it. All requests in the batch advance
// by one cell with each task, the more rows the slower; a request joins at once while there is room, and
// leaves after its last cell. Tasks are not simulated one by one: between two changes of the batch all rows
// advance evenly. O(log rows) a request.
class SimNode {
 public:
  SimNode(const SimCost& cost, double speed, std::uint32_t routers)
      : cost_(cost), speed_(speed), cells_of_(routers), rows_of_(routers) {}

  void add(const SimRequest& request, TimePoint now);
  // Those that are done by now.
  void finished(TimePoint now, std::vector<SimRequest>& out);
  std::optional<TimePoint> next_end() const;
  void clear(TimePoint now);  // the process dies
  void set_speed(double speed, TimePoint now);

  double speed() const { return speed_; }
  double cells_left(TimePoint now);
  // The part of other routers, and their rows.
  double cells_of_others(std::uint32_t router, TimePoint now);
  std::uint32_t rows_of_others(std::uint32_t router) const;
  std::uint32_t waiting() const { return static_cast<std::uint32_t>(waiting_.size()); }
  // Nanoseconds that a cell takes when the batch is full.
  double cell_ns() const { return task_ns(cost_.max_rows) / cost_.max_rows; }

 private:
  struct Running {
    double end = 0;  // in steps
    std::uint64_t order = 0;
    SimRequest request;
    bool operator>(const Running& other) const {
      return end != other.end ? end > other.end : order > other.order;
    }
  };

  double task_ns(std::size_t rows) const {
    return 1000 * (cost_.task_us + cost_.row_us * static_cast<double>(rows)) / speed_;
  }
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
