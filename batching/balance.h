#pragma once

#include <cstdint>
#include <vector>

#include "batching/lanes/lane_batcher.h"
#include "batching/pins.h"
#include "batching/ready_frontier.h"

namespace volvox {

// An idle worker takes what another has queued but not begun to run again; if that is nothing and the other
// has more than two tasks' worth, some of its requests run out there and move (docs/architecture.md). Workers
// of one scheduler share a device's memory, so moving costs nothing but the rows' new bindings. Not
// thread-safe.
class Balance {
 public:
  Balance(const SchedulerConfig& config, RequestTable& requests, ReadyQueues& queues,
          std::vector<Worker>& workers, Pins& pins, LaneBatcher& lanes, const ReadyFrontier& frontier)
      : config_(config),
        requests_(requests),
        queues_(queues),
        workers_(workers),
        pins_(pins),
        lanes_(lanes),
        frontier_(frontier) {}

  // Nothing is ready for the worker. True: now something is.
  bool help(WorkerId idle);

 private:
  std::uint32_t steal_unpinned(WorkerId from, WorkerId to, std::uint32_t at_most);
  void drain_some(WorkerId from, std::uint32_t rows);

  const SchedulerConfig& config_;
  RequestTable& requests_;
  ReadyQueues& queues_;
  std::vector<Worker>& workers_;
  Pins& pins_;
  LaneBatcher& lanes_;
  const ReadyFrontier& frontier_;
};

}  // namespace volvox
