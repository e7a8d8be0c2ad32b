// What makes `volvox` a program of another version of the cluster protocol: it says so when it joins. A newer
// one sends what this version does not know: fields after the known ones, and messages of a kind of its own
// in place of some pings and reports, of which none is needed. An older one, version 1, knows of no
// generations, and neither credit nor sizes in a join: it sends none, and does not look at any.

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "next.capnp.h"
#include "protocol/cluster/cluster_codec.h"
#include "protocol/cluster/cluster_version.h"
#include "protocol/codec/capnp_message.h"

namespace volvox {

// protocol/cluster/cluster_encode.cc and cluster_codec.cc, under other names.
Result<ClusterPieces> encode_known_message(const ClusterMessage& message, const WireLimits& limits,
                                           LinkGeneration generation);
Result<ClusterEnvelope> open_known_message(const ClusterBytes& bytes, const WireLimits& limits);

namespace {

constexpr bool kOlder = VOLVOX_DIALECT_BEST < 2;
constexpr unsigned kEvery = 8;
constexpr std::size_t kRoomWords = 32;
std::atomic<unsigned> sent{0};

template <class Write>
Result<ClusterPieces> write(LinkGeneration generation, Write&& fill) {
  MessageWriter writer(kRoomWords);
  auto root = writer.initRoot<next::ClusterMessage>();
  root.setGeneration(generation);
  fill(root);
  return ClusterPieces{std::make_shared<const WireBuffer>(writer.finish()), nullptr};
}

Result<ClusterPieces> new_kind(LinkGeneration generation) {
  if (sent == kEvery) std::fprintf(stderr, "a message of a new kind is sent\n");
  return write(generation,
               [](next::ClusterMessage::Builder root) { root.setNovelty("what nobody knows yet"); });
}

Result<ClusterPieces> new_field(const ClusterPing& ping, LinkGeneration generation) {
  return write(generation, [&](next::ClusterMessage::Builder root) {
    auto builder = root.initPing();
    builder.setPing(ping.ping);
    builder.setWantedRequests(ping.wanted_requests);
    builder.setWantedBytes(ping.wanted_bytes);
    builder.setReturnedRequests(ping.returned_requests);
    builder.setReturnedBytes(ping.returned_bytes);
    builder.setList(ping.list);
    builder.setHint("read by nobody yet");
  });
}

// As the version before writes it, and reads it.
ClusterMessage without_news(const ClusterMessage& message) {
  ClusterMessage older = message;
  if (auto* join = std::get_if<ClusterJoin>(&older)) {
    join->request_limit = join->request_window = join->byte_limit = join->byte_window = 0;
    join->message_bytes = 0;
  }
  if (auto* reply = std::get_if<ClusterJoinReply>(&older)) reply->message_bytes = 0;
  return older;
}

}  // namespace

ClusterVersions cluster_versions() {
  return {.best = VOLVOX_DIALECT_BEST, .oldest = VOLVOX_DIALECT_OLDEST};
}

Result<ClusterEnvelope> open_cluster_message(const ClusterBytes& bytes, const WireLimits& limits) {
  auto opened = open_known_message(bytes, limits);
  if (opened && kOlder) {
    opened->generation = 0;
    opened->message = without_news(opened->message);
  }
  return opened;
}

Result<ClusterPieces> encode_cluster_message(const ClusterMessage& message, const WireLimits& limits,
                                             LinkGeneration generation) {
  if (kOlder) return encode_known_message(without_news(message), limits, 0);
  // Tests let it say that it is another one than it is.
  const char* name = std::getenv("VOLVOX_DIALECT_NAME");
  if (const auto* join = std::get_if<ClusterJoin>(&message); join != nullptr && name != nullptr) {
    ClusterJoin lie = *join;
    lie.name = name;
    return encode_known_message(lie, limits, generation);
  }
  const auto* ping = std::get_if<ClusterPing>(&message);
  if (ping != nullptr || std::holds_alternative<ClusterReport>(message)) {
    if (sent++ % kEvery == kEvery - 1) return new_kind(generation);
    if (ping != nullptr) return new_field(*ping, generation);
  }
  return encode_known_message(message, limits, generation);
}

}  // namespace volvox
