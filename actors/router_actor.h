#pragma once

#include <caf/all.hpp>

namespace volvox {

// The router's place among the actors: asks the pure Router where a request runs and passes it on to that
// node's manager. Takes UseManager, RunWork, CancelWork. It keeps nothing of a request, so it may be replaced
// at any time.
caf::actor spawn_router(caf::actor_system& system);

}  // namespace volvox
