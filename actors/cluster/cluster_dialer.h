#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <caf/all.hpp>

#include "actors/cluster/cluster_transport.h"
#include "monitoring/metrics/cluster_metrics.h"

namespace volvox {

// dialer → its owner: here is the router.
struct Dialed {
  std::uint32_t seat = 0;  // the owner's number for it
  std::string address;
  caf::actor router;
};

using DialAtom = caf::atom_constant<caf::atom("dial")>;

struct DialerSetup {
  std::string address;  // "NUMBER:PORT"
  std::uint32_t seat = 0;
  caf::actor owner;
  std::shared_ptr<const ClusterTransport> transport;
  ClusterMetrics* metrics = nullptr;  // outlives the actor
};

// Opens connections to one router, on a thread of its own, for connecting blocks. On DialAtom it tries until
// somebody answers, then tells its owner: less and less often, up to every two seconds, as long as nobody
// ever has. CAF's own dial would block all others of the process for minutes when a host does not answer, so
// the address is proven first. What goes wrong is counted, and logged when it is something new.
caf::actor spawn_cluster_dialer(caf::actor_system& system, DialerSetup setup);

}  // namespace volvox

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(volvox::Dialed)
