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
// should serve nobody else. This actor stands before the manager as the runner of requests that stand alone
// and are large: it hands each to a scheduler, as a door does with small ones, and passes on what comes after
// it, in order. It has a thread of its own, so large bodies wait for each other only.
caf::actor spawn_body_reader(caf::actor_system& system, BodyReaderSetup setup);

}  // namespace volvox
