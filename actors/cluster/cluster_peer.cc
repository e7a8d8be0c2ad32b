#include "actors/cluster/cluster_peer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "actors/edge/edge_settings.h"

namespace volvox {

ClusterFlowLimits cluster_flow_limits(const ServeConfig& config, const ClusterSection& cluster) {
  ClusterFlowLimits limits;
  limits.wire = wire_limits(config.wire);
  // Results may be as large as requests; their headers, and what Cap'n Proto adds, come on top.
  limits.max_total_bytes =
      std::size_t{config.wire.max_body_bytes} + config.wire.max_header_bytes + (1U << 16);
  limits.max_queued_bytes = std::max(limits.max_total_bytes, std::size_t{cluster.max_queued_mib} << 20);
  limits.wire.traversal_words =
      std::max<std::uint64_t>(limits.wire.traversal_words, limits.max_total_bytes / 4);
  return limits;
}

Status ClusterPeer::send(const ClusterMessage& message) {
  Status pushed = link_.push(message);
  flush();
  return pushed;
}

Status ClusterPeer::send_last(const ClusterMessage& message) {
  Status pushed = link_.push_last(message);
  flush();
  return pushed;
}

void ClusterPeer::tick() {
  link_.tick();
  flush();
}

void ClusterPeer::flush() {
  while (auto bytes = link_.next()) self_->send(handle_, ClusterPacket{std::move(*bytes)});
}

Result<std::optional<ClusterMessage>> ClusterPeer::take(const ClusterPacket& packet) {
  auto message = link_.take(packet.bytes.whole());
  flush();
  return message;
}

}  // namespace volvox
