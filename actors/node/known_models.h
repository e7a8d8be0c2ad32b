#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "batching/cost.h"
#include "batching/scheduler.h"
#include "install/installation.h"
#include "monitoring/metrics/engine_snapshot.h"

namespace volvox {

// Which models one scheduler knows, and what they are called in metrics. Holds no model: one that nobody else
// holds may go. Only the scheduler actor calls.
class KnownModels {
 public:
  explicit KnownModels(Scheduler& brain) : brain_(brain) {}

  // From now on the brain takes requests of the model. Fails when something lives that has its numbers.
  Status learn(const InstalledModel& model);
  // True: it is not known any more. False: something of it lives.
  bool forget(ModelId id, std::uint64_t serial);

  // Estimated, as the model was measured when it was loaded.
  double cost_us(CellTypeId type, std::uint32_t rows) const { return task_cost_us(types_[type], rows); }
  void count_task(CellTypeId type, std::uint32_t rows) { batches_[type].add(rows); }
  // "MODEL/VERSION/TYPE".
  std::string name_of(CellTypeId type) const;
  // Appends models, types and pools, by name.
  void describe(const SchedulerStats& stats, EngineSnapshot& snapshot) const;

 private:
  struct Known {
    std::uint64_t serial = 0;  // 0: none
    std::string name;          // "lstm/1"
    CellTypeId first_type = 0;
    PoolId first_pool = 0;
    std::vector<std::string> types;
    std::uint32_t pools = 0;
  };

  bool is_named(const Known& known) const;

  Scheduler& brain_;
  std::vector<Known> models_;        // by number
  std::vector<BatchSizes> batches_;  // by cell type
  std::vector<TypeConfig> types_;    // likewise
};

}  // namespace volvox
