#include "actors/cluster/node_peers.h"

#include <chrono>
#include <utility>

#include "actors/work/work.h"
#include "base/clock.h"

namespace volvox {

NodePeers::NodePeers(caf::event_based_actor* self, const ServeConfig& config, const ClusterSection& cluster,
                     ClusterMetrics& metrics)
    : self_(self),
      flow_(cluster_flow_limits(config, cluster)),
      metrics_(metrics),
      newcomers_(cluster.max_newcomers, std::chrono::milliseconds(cluster.join_ms)) {}

NodePeerPtr NodePeers::find_or_add(const caf::actor& sender, NodePeerPtr& gone) {
  const auto found = peers_.find(sender.address());
  if (found != peers_.end()) return found->second;
  const auto peer =
      std::make_shared<NodePeer>(NodePeer{ClusterPeer(self_, sender, LinkEnd::kAnswers, flow_), {}, {}});
  peers_.emplace(sender.address(), peer);
  self_->monitor(sender);
  gone = wait_for_join(peer);
  return peer;
}

bool NodePeers::has(const NodePeerPtr& peer) const {
  const auto found = peers_.find(peer->link.handle().address());
  return found != peers_.end() && found->second == peer;
}

void NodePeers::joined(const NodePeerPtr& peer) {
  peer->link.link().let_in();
  newcomers_.remove(peer->link.handle().address());
}

NodePeerPtr NodePeers::left(const NodePeerPtr& peer) {
  return has(peer) ? wait_for_join(peer) : nullptr;
}

NodePeerPtr NodePeers::wait_for_join(const NodePeerPtr& peer) {
  const auto oldest = newcomers_.add(peer->link.handle().address(), steady_now());
  return oldest ? drop(*oldest) : nullptr;
}

NodePeerPtr NodePeers::drop(const caf::actor_addr& address) {
  metrics_.newcomer_dropped();
  return take(address);
}

NodePeerPtr NodePeers::take(const caf::actor_addr& address) {
  const auto found = peers_.extract(address);
  if (found.empty()) return nullptr;
  newcomers_.remove(address);
  self_->demonitor(found.mapped()->link.handle());
  return found.mapped();
}

std::vector<NodePeerPtr> NodePeers::take_expired() {
  std::vector<NodePeerPtr> gone;
  for (const caf::actor_addr& address : newcomers_.take_expired(steady_now()))
    if (NodePeerPtr peer = drop(address)) gone.push_back(std::move(peer));
  return gone;
}

}  // namespace volvox
