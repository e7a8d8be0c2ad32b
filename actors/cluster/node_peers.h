#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <caf/all.hpp>

#include "actors/cluster/cluster_peer.h"
#include "base/time.h"
#include "config/cluster.h"
#include "monitoring/metrics/cluster_metrics.h"
#include "routing/newcomers.h"
#include "routing/node_id.h"

namespace volvox {

// What a router knows of somebody who dialled it.
struct NodePeer {
  ClusterPeer link;
  std::optional<NodeId> node;  // once it joined
  std::vector<ClusterOffer> offers;
  std::uint32_t list = 0;  // their number
};
using NodePeerPtr = std::shared_ptr<NodePeer>;

// All who dialled, by their actors' addresses. Who is no member is one of few, and for a short time only
// (routing/newcomers.h). Belongs to one actor, and is used in it alone.
class NodePeers {
 public:
  NodePeers(caf::event_based_actor* self, const ServeConfig& config, const ClusterSection& cluster,
            ClusterMetrics& metrics);

  // That one, who is known from now on. Who had to go for it, if anybody: what is known of its node is the
  // caller's to forget.
  NodePeerPtr find_or_add(const caf::actor& sender, NodePeerPtr& gone);
  bool has(const NodePeerPtr& peer) const;
  // It is a member now …
  void joined(const NodePeerPtr& peer);
  // … or no longer: it may join again. Who had to go for it, if anybody.
  NodePeerPtr left(const NodePeerPtr& peer);
  // It is gone; null when it was not known.
  NodePeerPtr take(const caf::actor_addr& address);
  // Those that did not join in time; they are gone.
  std::vector<NodePeerPtr> take_expired();

 private:
  NodePeerPtr wait_for_join(const NodePeerPtr& peer);
  NodePeerPtr drop(const caf::actor_addr& address);

  caf::event_based_actor* self_;
  const ClusterFlowLimits flow_;
  ClusterMetrics& metrics_;
  std::map<caf::actor_addr, NodePeerPtr> peers_;
  Newcomers<caf::actor_addr> newcomers_;  // of peers_: those that are no members
};

}  // namespace volvox
