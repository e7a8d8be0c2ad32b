#pragma once

#include <caf/all.hpp>

#include "protocol/cluster/cluster_messages.h"

namespace volvox {

// The one type that travels between processes: a cluster message's bytes (protocol/cluster/cluster_codec.h),
// which are written from where they lie, and read in one piece to where they are used.
struct ClusterPacket {
  ClusterPieces bytes;
};

// On the wire: as CAF writes a vector of bytes, their number and they themselves.
caf::error inspect(caf::serializer& sink, ClusterPacket& packet);
// Takes no memory for what is announced and has not come.
caf::error inspect(caf::deserializer& source, ClusterPacket& packet);
// For logs: the type's name alone.
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ClusterPacket&) {
  return f(caf::meta::type_name("volvox::ClusterPacket"));
}

}  // namespace volvox
