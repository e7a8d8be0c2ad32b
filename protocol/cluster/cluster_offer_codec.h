#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <capnp/blob.h>

#include "base/error.h"
#include "protocol/cluster.capnp.h"
#include "protocol/cluster/cluster_messages.h"
#include "protocol/limits.h"

namespace volvox {

// Internal to the codec of cluster messages.

// A name that must be given, and clean; `what` says in errors what it is of.
Result<std::string> read_name(std::string_view what, capnp::Text::Reader text, const WireLimits& limits);

// What a node offers when it joins.
Result<ClusterOffer> read_offer(wire::ClusterOffer::Reader reader, const WireLimits& limits);
Status check_offer(const ClusterOffer& offer, const WireLimits& limits);
void write_offer(const ClusterOffer& offer, wire::ClusterOffer::Builder builder);
std::size_t offer_words(const ClusterOffer& offer);

}  // namespace volvox
