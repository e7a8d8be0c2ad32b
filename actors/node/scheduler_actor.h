#pragma once

#include <memory>
#include <vector>

#include <caf/all.hpp>

#include "actors/node/engine_core.h"
#include "actors/node/node.h"

namespace volvox {

struct SchedulerSetup {
  NodePtr node;
  NodeDevicePtr device;
  std::shared_ptr<EngineCore> core;
};

// Puts the pure Scheduler of one device on a thread of its own: feeds it what happens, and carries what it
// decides to the workers. Whatever has gathered in its mailbox is taken in first; then it decides once, so
// that under load one decision covers many requests and completions. Takes UseWorkers, UseManager, AdmitWork,
// CancelWork, TasksEnded, SnapshotQuery, UseModel, ForgetModel. A model that it has not heard of it learns
// with the first request.
caf::actor spawn_scheduler(caf::actor_system& system, SchedulerSetup setup);

}  // namespace volvox
