#include "actors/cluster_peer.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "actors/gateway.h"

namespace volvox {

ClusterFlowLimits cluster_flow_limits(const ServeConfig& config) {
  ClusterFlowLimits limits;
  limits.wire = wire_limits(config.wire);
  // Results may be as large as requests; their headers, and what Cap'n Proto adds, come on top.
  limits.max_total_bytes =
      std::size_t{config.wire.max_body_bytes} + config.wire.max_header_bytes + (1U << 16);
  limits.max_queued_bytes =
      std::max(limits.max_total_bytes, std::size_t{config.limits.max_result_mib_in_flight} << 20);
  limits.wire.traversal_words =
      std::max<std::uint64_t>(limits.wire.traversal_words, limits.max_total_bytes / 4);
  return limits;
}

Status ClusterPeer::send(const ClusterMessage& message) {
  Status pushed = outbox_.push(message);
  flush();
  return pushed;
}

void ClusterPeer::flush() {
  while (const auto bytes = outbox_.next()) {
    const auto* data = reinterpret_cast<const char*>(bytes->data());
    self_->send(handle_, ClusterPacket{std::vector<char>(data, data + bytes->size())});
  }
}

Result<std::optional<ClusterMessage>> ClusterPeer::take(const ClusterPacket& packet) {
  auto message = inbox_.take(std::as_bytes(std::span(packet.bytes)));
  if (const std::uint32_t acks = inbox_.take_acks(); acks != 0) {
    if (Status sent = send(ClusterAck{acks}); !sent) return tl::unexpected(std::move(sent).error());
  }
  if (!message || !*message) return message;
  if (const auto* ack = std::get_if<ClusterAck>(&**message)) {
    outbox_.acked(ack->fragments);
    flush();
    return std::optional<ClusterMessage>();
  }
  return message;
}

}  // namespace volvox
