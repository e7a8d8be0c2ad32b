#pragma once

#include <memory>

#include <caf/all.hpp>

#include "actors/node/engine_core.h"
#include "actors/node/node.h"

namespace volvox {

struct WorkerSetup {
  NodePtr node;
  NodeDevicePtr device;
  std::shared_ptr<EngineCore> core;  // kept alive, not used
  WorkerId number = 0;
  std::shared_ptr<std::unique_ptr<Queue>> queue;  // the worker takes it
  caf::actor scheduler;
};

// A queue takes tasks and reports how far it is, but wants one thread that waits for it. The worker is that
// thread: it submits the tasks that the scheduler sends, in order, and sends them back in groups as they end.
// While it waits it looks for new tasks at least every millisecond, and at once when a task ends: a queue
// never runs dry in between. A failed queue is replaced by a fresh one; a task that a queue refuses, for it
// has no memory left, counts as failed. Takes SubmitTasks.
caf::actor spawn_worker(caf::actor_system& system, WorkerSetup setup);

}  // namespace volvox
