#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "batching/lanes/lane_frontiers.h"
#include "batching/model_loads.h"
#include "batching/policy/policy.h"
#include "batching/ready_queues.h"
#include "batching/worker.h"

namespace volvox {

// What a policy sees of the queues and the cohorts. `running`: tasks in flight, by type. Not thread-safe.
class ReadyFrontier final : public Frontier {
 public:
  ReadyFrontier(const ReadyQueues& queues, const std::vector<Worker>& workers,
                const std::vector<std::uint32_t>& running, const LaneFrontiers& alone,
                const ModelLoads& models)
      : queues_(queues), workers_(workers), running_(running), alone_(alone), models_(models) {}

  std::uint32_t ready(CellTypeId type, WorkerId worker) const override {
    return workers_[worker].cohorts[type].active() + queues_.count_for(type, worker);
  }
  std::uint32_t ready(CellTypeId type, WorkerId worker, PriorityClass priority) const override {
    return workers_[worker].cohorts[type].active(priority) + queues_.count_for(type, worker, priority);
  }
  void ready_types(WorkerId worker, std::vector<ReadyType>& types) const override;
  std::uint32_t running(CellTypeId type) const override { return running_[type]; }
  std::uint32_t ready_alone(CellTypeId type) const override { return alone_[type]; }
  bool came_together(ModelId model) const override { return models_[model].came_together(); }
  std::optional<TimePoint> waiting_since(CellTypeId type, WorkerId worker) const override;
  std::uint32_t in_flight(WorkerId worker) const override { return workers_[worker].log.in_flight(); }
  bool anything_ready(WorkerId worker) const override {
    return backlog(worker) > 0 || queues_.count_at(queues_.any()) > 0;
  }

  // Rows that are ready for this worker and no other.
  std::uint32_t backlog(WorkerId worker) const {
    return workers_[worker].cohort_rows + queues_.count_at(worker);
  }

 private:
  const ReadyQueues& queues_;
  const std::vector<Worker>& workers_;
  const std::vector<std::uint32_t>& running_;
  const LaneFrontiers& alone_;
  const ModelLoads& models_;
};

}  // namespace volvox
