#pragma once

#include <caf/all.hpp>

namespace volvox {

// The way from the doors to the one node of this process: passes requests on to its manager, and refuses them
// while there is none. Takes UseManager, RunWork, CancelWork. It keeps nothing of a request, so it may be
// replaced at any time.
caf::actor spawn_router(caf::actor_system& system);

}  // namespace volvox
