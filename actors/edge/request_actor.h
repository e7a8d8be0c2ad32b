#pragma once

#include <memory>

#include <caf/all.hpp>

#include "actors/edge/reply_sink.h"
#include "actors/node/dispatcher.h"

namespace volvox {

// Spawns the actor of one request: it watches the request's deadline and its cancellation, and answers the
// client exactly once, perhaps before this returns. It ends with the request, which goes to the runner (the
// manager of this process, whoever reads large bodies for it, or the router of a cluster; invalid: there is
// none now); or with the dispatcher,
// by the caller's own thread, unless it is a part of a session. Called by the threads of the doors: the
// gateway's, those of HTTP, and the cluster node.
caf::actor spawn_request_actor(caf::actor_system& system, std::shared_ptr<ReplySink> sink, caf::actor runner,
                               RequestPtr request, const Dispatcher* dispatcher = nullptr);

}  // namespace volvox
