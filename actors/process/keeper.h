#pragma once

#include <functional>
#include <memory>
#include <string>

#include <caf/all.hpp>

#include "actors/system/actor_slot.h"
#include "base/error.h"

namespace volvox {

struct KeeperSetup {
  std::string name;                             // in the log
  caf::actor first;                             // that runs already
  std::function<Result<caf::actor>()> restart;  // makes the next one; may block; on the keeper's thread
  std::shared_ptr<ActorSlot> slot;              // kept up to date; empty while there is none
  std::function<void()> restarted;              // counts
};

// An actor that serves and fails must not be missed for long, and nobody else would notice. The keeper makes
// another in its place, at once, or after a pause where the last one did not live long; as often as it takes.
// One that ends without an error meant to: the keeper ends with it. On an exit message it ends the actor, and
// then itself.
caf::actor spawn_keeper(caf::actor_system& system, KeeperSetup setup);

}  // namespace volvox
