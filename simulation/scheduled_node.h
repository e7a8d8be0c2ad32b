#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/index_pool.h"
#include "batching/scheduler.h"
#include "simulation/sim_node.h"

namespace volvox {

// The production Scheduler in virtual time, with one worker on a device that takes as long as the cost table
// says and computes nothing. Requests are chains of one cell type. Every task is simulated.
class ScheduledNode : public SimNode {
 public:
  ScheduledNode(const SimCost& cost, double speed, std::uint32_t routers);

  void add(const SimRequest& request, TimePoint now) override;
  void finished(TimePoint now, std::vector<SimRequest>& out) override;
  std::optional<TimePoint> next_end() const override;
  void clear(TimePoint now) override;
  // From the next task on.
  void set_speed(double speed, TimePoint now) override;

  double cells_left(TimePoint now) override;
  // Whole requests: a node does not tell how far each of them is.
  double cells_of_others(std::uint32_t router, TimePoint now) override;
  std::uint32_t rows_of_others(std::uint32_t router) const override;
  double cell_ns() const override;
  std::uint64_t tasks() const { return tasks_; }  // done so far

 private:
  struct InFlight {
    BatchedTask task;
    TimePoint end;
  };

  void submit(TimePoint now);
  void complete(InFlight done, std::vector<SimRequest>& out);

  SimCost cost_;
  double speed_;
  LanePlan plan_;
  std::unique_ptr<Scheduler> scheduler_;
  std::deque<InFlight> queue_;  // the device runs them one after another
  IndexPool<SimRequest> open_;
  std::vector<double> cells_of_;  // by router, as are rows_of_
  std::vector<std::uint32_t> rows_of_;
  double cells_left_ = 0;
  std::uint64_t tasks_ = 0;
  std::vector<BatchedTask> formed_;
  std::vector<Event> events_;
};

}  // namespace volvox
