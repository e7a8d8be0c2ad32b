#pragma once

#include <cstdint>
#include <vector>

#include "batching/scheduler_config.h"

namespace volvox {

// Counters since the start; gauges as of now.
struct SchedulerStats {
  std::uint64_t tasks = 0, cells = 0, rows_executed = 0, rows_padding = 0, rows_moved = 0;
  std::uint64_t requests_done = 0, requests_failed = 0, requests_cancelled = 0, requests_expired = 0;
  std::uint32_t live_requests = 0;
  std::uint32_t waiting_requests = 0;  // for state memory or for their client's turn
  std::uint32_t waiting_clients = 0;   // whose these are; each once for every model and class
  struct PerType {
    CellTypeId id = 0;
    std::uint64_t tasks = 0, rows = 0, padding = 0;
    std::uint32_t ready = 0, running = 0;
  };
  std::vector<PerType> types;
  struct PerPool {
    PoolId id = 0;
    std::uint32_t slots = 0, reserved = 0;
    std::uint32_t used = 0;  // of what is reserved, what holds a state
  };
  std::vector<PerPool> pools;
  struct PerModel {
    ModelId id = 0;
    std::uint32_t live = 0, waiting = 0;  // requests; of those, the ones of which nothing was submitted yet
    double device_us = 0;                 // estimated cost of its tasks so far
  };
  std::vector<PerModel> models;
};

}  // namespace volvox
