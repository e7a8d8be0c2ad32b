#pragma once

#include <memory>

#include <caf/all.hpp>

#include "actors/reply_sink.h"

namespace volvox {

// Spawns the actor of one request: it sends the request to the router, watches its deadline and its
// cancellation, and answers the client exactly once. It begins with StartRequest, which must be its first
// message, and ends with the request. Called by the threads of the doors: the
// gateway's, and those of HTTP.
caf::actor spawn_request_actor(caf::actor_system& system, std::shared_ptr<ReplySink> sink, caf::actor router);

}  // namespace volvox
