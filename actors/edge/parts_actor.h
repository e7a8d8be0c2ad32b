#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <caf/all.hpp>

#include "actors/edge/reply_sink.h"
#include "base/time.h"

namespace volvox {

struct PartsSetup {
  // What came as one message, and is answered in messages of many parts.
  struct Bundle {
    std::uint64_t first_id = 0;  // of part 0, admitted or not
    Duration gather{};           // how long an answer waits for others
  };

  std::shared_ptr<ReplySink> sink;
  caf::actor runner;              // as of a request actor
  std::vector<RequestPtr> parts;  // those that were admitted, with one deadline; at least one
  std::optional<Bundle> bundle;   // none: each came in a message of its own, perhaps of several clients
};

// Spawns one actor for parts that came together, and hands them to the runner in one message. As a request
// actor it answers each exactly once, and watches deadline and cancellation. Parts of a bundle that are done
// together are answered together: an answer waits for others for `gather` at most, and for none once all
// parts have ended. Other parts are answered one by one, as soon as they are done. Called by the gateway's
// thread.
caf::actor spawn_parts_actor(caf::actor_system& system, PartsSetup setup);

}  // namespace volvox
