#pragma once

#include <memory>

#include <caf/all.hpp>

#include "actors/edge/reply_sink.h"

namespace volvox {

// Spawns the actor of one request: it sends the request to the router, watches its deadline and its
// cancellation, and answers the client exactly once. It does nothing before its first message: StartAtom, so
// that a door can first remember whom it answers; or an end that overtakes it. It ends with the request.
// Called by the threads of the doors: the gateway's, those of HTTP, and the cluster node.
caf::actor spawn_request_actor(caf::actor_system& system, std::shared_ptr<ReplySink> sink, caf::actor router,
                               RequestPtr request);

}  // namespace volvox
