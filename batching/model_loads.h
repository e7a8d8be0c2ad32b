#pragma once

#include <cstdint>
#include <vector>

#include "batching/scheduler_config.h"
#include "batching/scheduler_stats.h"

namespace volvox {

// The models that there are, and what their requests do and cost. Not thread-safe.
class ModelLoads {
 public:
  struct Load {
    bool present = false;
    std::uint32_t max_waiting = 0;        // 0: no bound
    std::uint32_t live = 0, waiting = 0;  // requests; of those, the ones of which nothing was submitted
    double device_us = 0;                 // estimated cost of its tasks so far
    // Requests that have entered; of those, the ones of the last burst, which came with no task between; and
    // the ones whose steps somebody follows as they are done.
    std::uint32_t entered = 0, in_burst = 0, followed = 0;
    std::uint32_t burst = 0;  // its number
    bool task_since = false;  // a task was formed since the last one entered

    // Returns the number of its burst, which leave() wants.
    std::uint32_t enter(bool is_followed) {
      if (task_since) {
        ++burst;
        in_burst = 0;
      }
      task_since = false;
      ++entered;
      ++in_burst;
      followed += is_followed ? 1 : 0;
      return burst;
    }
    void leave(std::uint32_t of, bool is_followed) {
      --entered;
      in_burst -= of == burst ? 1 : 0;
      followed -= is_followed ? 1 : 0;
    }
    bool came_together() const { return entered == in_burst && followed == 0; }
  };

  bool has(ModelId id) const { return id < loads_.size() && loads_[id].present; }
  bool is_live(ModelId id) const { return has(id) && loads_[id].live > 0; }
  // Whoever had the number before is forgotten.
  void add(const ModelConfig& model) {
    if (model.id >= loads_.size()) loads_.resize(model.id + 1);
    loads_[model.id] = {};
    loads_[model.id].present = true;
    loads_[model.id].max_waiting = model.max_waiting;
  }
  void remove(ModelId id) { loads_[id] = {}; }

  Load& operator[](ModelId id) { return loads_[id]; }
  const Load& operator[](ModelId id) const { return loads_[id]; }
  // Of all models, in order.
  void describe(std::vector<SchedulerStats::PerModel>& stats) const {
    for (ModelId id = 0; id < loads_.size(); ++id) {
      stats.push_back({id, loads_[id].live, loads_[id].waiting, loads_[id].device_us});
    }
  }

 private:
  std::vector<Load> loads_;
};

}  // namespace volvox
