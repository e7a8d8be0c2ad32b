#include "protocol/cluster/cluster_link.h"

#include <string>
#include <utility>
#include <variant>

namespace volvox {

ClusterLink::ClusterLink(LinkEnd end, const ClusterFlowLimits& limits)
    : end_(end),
      limits_(limits),
      in_(end == LinkEnd::kDials),
      outbox_(limits),
      inbox_(limits, end == LinkEnd::kDials) {}

void ClusterLink::renew(LinkGeneration generation, bool in) {
  generation_ = generation;
  in_ = in;
  outbox_ = ClusterOutbox(limits_, generation);
  inbox_ = ClusterInbox(limits_, in);
}

void ClusterLink::begin(LinkGeneration generation) {
  renew(generation, true);
}

void ClusterLink::let_in() {
  in_ = true;
  inbox_.join();
}

// Bytes arrive in the order in which they were sent: a lower generation is of a life that is over.
bool ClusterLink::follow(LinkGeneration generation) {
  if (end_ == LinkEnd::kAnswers && generation > generation_) renew(generation, false);
  return generation == generation_ || (end_ == LinkEnd::kDials && generation == 0);
}

// What the ends tell each other of themselves as they meet.
void ClusterLink::note(const ClusterMessage& said) {
  if (const auto* join = std::get_if<ClusterJoin>(&said)) outbox_.peer_takes(join->message_bytes);
  if (const auto* reply = std::get_if<ClusterJoinReply>(&said)) outbox_.peer_takes(reply->message_bytes);
}

Result<std::optional<ClusterMessage>> ClusterLink::take(const ClusterBytes& bytes) {
  if (bytes && bytes->size() > limits_.max_message_bytes) {
    return invalid("a cluster message has " + std::to_string(bytes->size()) + " bytes; the limit is " +
                   std::to_string(limits_.max_message_bytes));
  }
  auto opened = open_cluster_message(bytes, limits_.wire);
  if (!opened) return tl::unexpected<Error>(std::move(opened).error());
  if (!follow(opened->generation)) return std::optional<ClusterMessage>();
  auto message = inbox_.take(std::move(opened->message));
  if (const std::uint32_t acks = inbox_.take_acks(); acks != 0) {
    if (Status told = push(ClusterAck{acks}); !told) return tl::unexpected<Error>(std::move(told).error());
  }
  // Who has not joined, in this life, may still be sending what it began in one that has been forgotten here.
  if (!message && !in_) return std::optional<ClusterMessage>();
  if (!message || !*message) return message;
  note(**message);
  const auto* ack = std::get_if<ClusterAck>(&**message);
  if (ack == nullptr) return message;
  outbox_.acked(ack->fragments);
  return std::optional<ClusterMessage>();
}

}  // namespace volvox
