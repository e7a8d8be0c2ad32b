#pragma once

#include <optional>

#include <caf/all.hpp>

#include "actors/system/system_config.h"
#include "base/error.h"
#include "config/cluster.h"
#include "protocol/cluster/cluster_link.h"

namespace volvox {

// The bounds of a link, which both sides must agree on: the largest body, and what goes with it.
ClusterFlowLimits cluster_flow_limits(const ServeConfig& config, const ClusterSection& cluster);

// One end of a link between a router and a node, as the actor that owns it sees it: messages in, messages
// out, cut and put together on the way. Called by that actor only.
class ClusterPeer {
 public:
  ClusterPeer(caf::event_based_actor* self, caf::actor handle, LinkEnd end, const ClusterFlowLimits& limits)
      : self_(self), handle_(std::move(handle)), link_(end, limits) {}

  const caf::actor& handle() const { return handle_; }
  // Its lives, and what waits on it.
  ClusterLink& link() { return link_; }
  const ClusterLink& link() const { return link_; }

  // As ClusterOutbox::push; what may go now is gone when it returns.
  Status send(const ClusterMessage& message);
  // As ClusterOutbox::push_last.
  Status send_last(const ClusterMessage& message);
  // As ClusterOutbox::tick.
  void tick();
  // As ClusterLink::take; what is for the link itself is dealt with here.
  Result<std::optional<ClusterMessage>> take(const ClusterPacket& packet);

 private:
  void flush();

  caf::event_based_actor* self_;
  caf::actor handle_;
  ClusterLink link_;
};

}  // namespace volvox
