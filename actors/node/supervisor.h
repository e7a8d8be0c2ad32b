#pragma once

#include <future>
#include <memory>
#include <vector>

#include <caf/all.hpp>

#include "actors/node/node.h"
#include "actors/system/actor_slot.h"

namespace volvox {

// Queues of one device.
using OpenQueues = std::shared_ptr<std::vector<std::unique_ptr<Queue>>>;

struct SupervisorSetup {
  NodePtr node;
  std::shared_ptr<ActorSlot> manager;           // kept up to date for the doors
  SchedulerSlots schedulers;                    // and for monitoring
  std::vector<OpenQueues> queues;               // the first ones, by device, opened by who starts the node
  std::shared_ptr<std::promise<void>> started;  // kept when all of them can be sent requests
};

// Opens as many queues of the device as the configuration says.
Result<OpenQueues> open_queues(const Node& node, const NodeDevice& device);

// Actors fail: a defect throws, a device breaks. The supervisor starts the manager, and for each
// device the scheduler and the workers of one cluster node, replaces those that fail, and introduces the new
// ones to the others. The requests of a failed actor need no care here: each Work that it held says so
// itself. A scheduler and its workers fail together, since they share the device's state; new ones start when
// the last of the old is gone, on fresh queues; other devices go on meanwhile. Ends, with all its actors, on
// an exit message.
caf::actor spawn_supervisor(caf::actor_system& system, SupervisorSetup setup);

}  // namespace volvox
