#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "cells/ir/types.h"
#include "device/device.h"

namespace volvox {

// What the scheduler must know of one cell type.
struct TypeConfig {
  CellTypeId id = 0;
  ModelId model = 0;
  std::int32_t priority = 0;    // higher first: later cells
  std::uint32_t min_batch = 1;  // a smaller task ends a run of tasks; it is never delayed
  std::uint32_t max_batch = 64;
  std::uint32_t max_edges = 1U << 16;  // ragged edges in one task
  bool independent = false;            // steps of one lane may share a task
  bool is_read = true;                 // its cells leave states, which others may read
  bool lazy = false;                   // may wait for preferred_batch, at most `linger`
  std::uint32_t preferred_batch = 0;
  Duration linger{0};
  std::vector<std::uint32_t> sizes{};       // supported batch sizes; empty: all
  std::vector<CompiledCell::Cost> costs{};  // measured; empty: 1 us a row
  std::uint32_t pulls = 0, pushes = 0;      // of its cell
};

struct PoolConfig {
  PoolId id = 0;
  std::uint32_t slots = 0;  // that requests share, kReservedSlots included; the device may have more
};

inline constexpr ModelId kNoModel = ~ModelId{0};

class TypeChooserMaker;

struct ModelConfig {
  ModelId id = 0;
  double weight = 1.0;            // share of device time when several models are busy
  std::uint32_t max_waiting = 0;  // requests of which nothing has been submitted yet; 0: no bound
  // How the model's next type is chosen, and what that has learned (batching/policy/type_chooser.h); none: by
  // Algorithm 1.
  std::shared_ptr<const TypeChooserMaker> chooser{};
};

// A model that comes while others run. The numbers of its types and pools are dense within it; they may have
// belonged to a model that was removed.
struct ModelParts {
  ModelConfig config;
  std::vector<TypeConfig> types;
  std::vector<PoolConfig> pools;
};

struct SchedulerConfig {
  std::vector<TypeConfig> types;
  std::vector<PoolConfig> pools;
  std::vector<ModelConfig> models;
  std::uint32_t workers = 1;
  std::vector<std::uint32_t> worker_batches;  // rows of a worker's tasks, at most: with several queues on one
                                              // GPU a small batch need not wait for a large one (E²bird §6);
                                              // 0, or a worker without an entry: as the types say
  std::uint32_t max_tasks_to_submit = 5;  // tasks ahead of a worker (BatchMaker §4.3)
  Duration max_ahead{0};              // no third task while the estimate ahead exceeds this; 0: no such bound
  Duration max_wait{0};               // a node older than this makes its type eligible as if full; 0: off
  Duration age{0};                    // a request this old competes one class higher, and so on; 0: off
  std::uint32_t max_live = 1U << 16;  // requests admitted or waiting
  std::uint32_t max_overtake = 16;    // smaller requests that may pass one that waits for slots
  // Requests of a model that are let in before they have begun: until what they can run at once fills so many
  // tasks of each of its types on each worker. The others wait where clients take turns. 0: all that fit.
  std::uint32_t queued_batches = 1;
};

// Rows of a task of the type on this worker, at most.
inline std::uint32_t max_batch(const TypeConfig& type, const std::vector<std::uint32_t>& worker_batches,
                               std::uint32_t worker) {
  const std::uint32_t own = worker < worker_batches.size() ? worker_batches[worker] : 0;
  return own == 0 ? type.max_batch : std::min(own, type.max_batch);
}

// Rows of the model's requests that may be in and have not begun (SchedulerConfig::queued_batches); 0: any
// number.
inline std::uint32_t most_queued(const SchedulerConfig& config, ModelId model) {
  std::uint32_t rows = 0;
  for (const TypeConfig& type : config.types) {
    for (std::uint32_t worker = 0; type.model == model && worker < config.workers; ++worker) {
      rows += max_batch(type, config.worker_batches, worker);
    }
  }
  return rows * config.queued_batches;
}

}  // namespace volvox
