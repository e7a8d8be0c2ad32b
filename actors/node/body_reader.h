#pragma once

#include <memory>

#include <caf/all.hpp>

#include "actors/node/dispatcher.h"
#include "actors/node/node.h"
#include "actors/system/actor_slot.h"

namespace volvox {

struct BodyReaderSetup {
  NodePtr node;
  std::shared_ptr<const Dispatcher> dispatcher;
  std::shared_ptr<ActorSlot> manager;
};

// To read and check a large body takes milliseconds, in which neither a door's one thread nor the manager
// should serve nobody else. This actor has a thread of its own, so large bodies wait for each other only. It
// stands before the manager as the runner of these requests: those that stand alone it hands to a scheduler,
// as a door does with small ones; parts of sessions it reads, and passes them on, as all that comes after a
// request, in order. It writes large answers for their request actors, too.
caf::actor spawn_body_reader(caf::actor_system& system, BodyReaderSetup setup);

}  // namespace volvox
