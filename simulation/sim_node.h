#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "batching/scheduler_config.h"
#include "routing/attempts.h"

namespace volvox {

// What a simulated node computes with: a task of r rows takes task_cost_us(type, r) / speed, and at most
// type.max_batch rows. `max_requests` is what the scheduler has slots for.
struct SimCost {
  TypeConfig type;
  std::uint32_t max_requests = 4096;

  double task_ns(std::uint32_t rows) const;
};

// The cost table of tasks that take task_us + row_us · r.
SimCost linear_cost(double task_us, double row_us, std::uint32_t max_rows);

struct SimRequest {
  std::uint32_t router = 0;
  AttemptId attempt;
  std::uint32_t cells = 0;
};

// A node in virtual time: it batches the cells of the requests that the routers `0 … routers-1` send.
class SimNode {
 public:
  virtual ~SimNode() = default;

  virtual void add(const SimRequest& request, TimePoint now) = 0;
  // Those that are done by now.
  virtual void finished(TimePoint now, std::vector<SimRequest>& out) = 0;
  virtual std::optional<TimePoint> next_end() const = 0;
  virtual void clear(TimePoint now) = 0;  // the process dies
  virtual void set_speed(double speed, TimePoint now) = 0;

  virtual double cells_left(TimePoint now) = 0;
  // The part of other routers, and their requests that run, as it reports them.
  virtual double cells_of_others(std::uint32_t router, TimePoint now) = 0;
  virtual std::uint32_t rows_of_others(std::uint32_t router) const = 0;
  // Nanoseconds that a cell takes when the batch is full.
  virtual double cell_ns() const = 0;
};

}  // namespace volvox
