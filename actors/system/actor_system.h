#pragma once

#include <functional>
#include <string>

#include <caf/all.hpp>

#include "actors/system/system_config.h"
#include "base/leak_sanitizer.h"

namespace volvox {

// CAF's system, with an end that comes: CAF's broker does not empty its mailbox when it stops. What then lies
// in there keeps its sender; were that the one who dials, the system would wait for that one's thread for
// ever. So the broker is asked something first, behind all that was asked of it. What it is told during its
// very last moment stays in memory without harm, and is no leak of ours. Destroyed by the thread that made
// it; waits for all actors.
class ActorSystem : public caf::actor_system {
 public:
  explicit ActorSystem(SystemConfig& config) : ActorSystem(config, NoLeakCheck()) {}
  ~ActorSystem() override;

 private:
  ActorSystem(SystemConfig& config, const NoLeakCheck&) : caf::actor_system(config) {}
};

// Whether the actor that holds all of the process's connections in a cluster has ended, for want of memory
// say. Then nobody answers what is asked of it, and none of its doors is open. Any thread.
bool connections_have_failed(caf::actor_system& system);

// For Monitor: trouble, once the actor that holds all of the process's connections in a cluster has ended,
// for want of memory say. Nothing brings it back, and the process would look well and serve no cluster. The
// system must outlive it.
std::function<std::string()> watch_connections(caf::actor_system& system);

}  // namespace volvox
