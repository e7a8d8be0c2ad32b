// What makes `volvox` a program of another version of the cluster protocol: it says so when it joins, and it
// sends what version 1 does not know: fields after the known ones, and messages of a kind of its own in place
// of some pings and reports, of which none is needed.

#include <atomic>
#include <cstdio>

#include "next.capnp.h"
#include "protocol/capnp_message.h"
#include "protocol/cluster_codec.h"
#include "protocol/cluster_version.h"

namespace volvox {

// protocol/cluster_encode.cc, under another name.
Result<WireBuffer> encode_known_message(const ClusterMessage& message, const WireLimits& limits);

namespace {

constexpr unsigned kEvery = 8;
constexpr std::size_t kRoomWords = 32;
std::atomic<unsigned> sent{0};

template <class Write>
Result<WireBuffer> write(Write&& fill) {
  MessageWriter writer(kRoomWords);
  fill(writer.initRoot<next::ClusterMessage>());
  return writer.finish();
}

Result<WireBuffer> new_kind() {
  if (sent == kEvery) std::fprintf(stderr, "a message of a new kind is sent\n");
  return write([](next::ClusterMessage::Builder root) { root.setNovelty("what nobody knows yet"); });
}

Result<WireBuffer> new_field(const ClusterPing& ping) {
  return write([&](next::ClusterMessage::Builder root) {
    auto builder = root.initPing();
    builder.setPing(ping.ping);
    builder.setWantedRequests(ping.wanted_requests);
    builder.setWantedBytes(ping.wanted_bytes);
    builder.setReturnedRequests(ping.returned_requests);
    builder.setReturnedBytes(ping.returned_bytes);
    builder.setHint("read by nobody yet");
  });
}

}  // namespace

ClusterVersions cluster_versions() {
  return {.best = VOLVOX_DIALECT_BEST, .oldest = VOLVOX_DIALECT_OLDEST};
}

Result<WireBuffer> encode_cluster_message(const ClusterMessage& message, const WireLimits& limits) {
  const auto* ping = std::get_if<ClusterPing>(&message);
  if (ping != nullptr || std::holds_alternative<ClusterReport>(message)) {
    if (sent++ % kEvery == kEvery - 1) return new_kind();
    if (ping != nullptr) return new_field(*ping);
  }
  return encode_known_message(message, limits);
}

}  // namespace volvox
