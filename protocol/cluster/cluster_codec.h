#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "protocol/buffer.h"
#include "protocol/cluster/cluster_messages.h"
#include "protocol/limits.h"

namespace volvox {

// Cluster messages ↔ bytes. As protocol/codec/codec.h: any bytes are taken, what is wrong is an
// INVALID_ARGUMENT, nothing throws. Headers and bodies are not copied: they share the bytes that they came
// in. Any thread.

// Lists of more entries are refused on both sides.
inline constexpr std::uint32_t kMaxClusterOffers = 4096;

Result<ClusterEnvelope> open_cluster_message(const ClusterBytes& bytes, const WireLimits& limits);
// The same, of a message of which nobody asks on which link it came.
Result<ClusterMessage> decode_cluster_message(const ClusterBytes& bytes, const WireLimits& limits);
// ClusterUnknown cannot be sent. A body, or a fragment's bytes, that are not small are the tail.
Result<ClusterPieces> encode_cluster_message(const ClusterMessage& message, const WireLimits& limits,
                                             LinkGeneration generation = 0);

}  // namespace volvox
