#pragma once

#include <caf/all.hpp>

#include "actors/node/node.h"
#include "actors/sessions/state_copier.h"

namespace volvox {

struct ManagerSetup {
  NodePtr node;
  StateCopierPtr copier;  // outlives the manager
};

// A request comes in as bytes and must become a cell graph on a device; a result must become an answer. The
// manager sees to both: by the Dispatcher it hands to a device's scheduler what neither a door nor the reader
// of large bodies has handed on (by the SessionDriver parts of sessions); and it assembles the answers of
// all. A request under which one of several devices failed is run once more on another, if nothing of its
// answer has been sent. Takes RunWork, RerunWork, CancelWork, FinishedWorks, Stepped, PartLost, PartStuck,
// DrainAtom, UseScheduler. Of requests that stand alone it keeps no table: a Work knows all about itself, so
// a manager that fails loses only what it was working on, and a new one goes on with the rest. The sessions
// (SessionDriver) end with it; a copy of a state that is under way does not, and holds up nobody.
caf::actor spawn_manager(caf::actor_system& system, ManagerSetup setup);

}  // namespace volvox
