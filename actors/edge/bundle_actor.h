#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <caf/all.hpp>

#include "actors/edge/reply_sink.h"
#include "base/time.h"

namespace volvox {

struct BundleSetup {
  std::shared_ptr<ReplySink> sink;
  caf::actor runner;              // as of a request actor
  std::uint64_t first_id = 0;     // of part 0, admitted or not
  std::vector<RequestPtr> parts;  // those that were admitted; at least one
  Duration gather{};              // how long an answer waits for others
};

// Spawns the actor of a bundle, and hands its parts to the runner in one message. As a request actor it
// answers each part exactly once, and watches deadline and cancellation; what is done together is answered
// together: an answer waits for others for `gather` at most, and for none once all parts have ended. Called
// by the gateway's thread.
caf::actor spawn_bundle_actor(caf::actor_system& system, BundleSetup setup);

}  // namespace volvox
