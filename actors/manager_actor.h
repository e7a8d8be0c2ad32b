#pragma once

#include <caf/all.hpp>

#include "actors/node.h"

namespace volvox {

// A request comes in as bytes and must become a cell graph on a device; a result must become an answer. The
// manager does both, once for each request: it checks the request against its model, stages the inputs,
// allocates the results, unfolds, and hands over to the scheduler; and it assembles what comes back. Takes
// RunWork, CancelWork, FinishedWorks, PartLost, DrainAtom, UseScheduler. Of requests that stand alone it
// keeps no table: a Work knows all about itself, so a manager that fails loses only what it was working on,
// and a new one goes on with the rest. The sessions (SessionDriver) end with it.
caf::actor spawn_manager(caf::actor_system& system, NodePtr node);

}  // namespace volvox
