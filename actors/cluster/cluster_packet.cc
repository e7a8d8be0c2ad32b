#include "actors/cluster/cluster_packet.h"

#include <cstddef>
#include <memory>
#include <utility>

#include <caf/binary_deserializer.hpp>

#include "protocol/buffer.h"

namespace volvox {

caf::error inspect(caf::serializer& sink, ClusterPacket& packet) {
  std::size_t size = packet.bytes.size();
  if (auto error = sink.begin_sequence(size)) return error;
  for (const ClusterBytes& piece : {packet.bytes.head, packet.bytes.tail}) {
    if (!piece || piece->empty()) continue;
    // CAF takes the address of something that may change, and only reads it.
    if (auto error = sink.apply_raw(piece->size(), const_cast<std::byte*>(piece->data()))) return error;
  }
  return sink.end_sequence();
}

caf::error inspect(caf::deserializer& source, ClusterPacket& packet) {
  std::size_t size = 0;
  if (auto error = source.begin_sequence(size)) return error;
  const auto* const bytes = dynamic_cast<caf::binary_deserializer*>(&source);
  if (bytes == nullptr || size > bytes->remaining()) return caf::sec::end_of_stream;
  packet.bytes = {};
  if (size > 0) {
    WireBuffer content = WireBuffer::unwritten(size);
    if (auto error = source.apply_raw(size, content.data())) return error;
    packet.bytes.head = std::make_shared<const WireBuffer>(std::move(content));
  }
  return source.end_sequence();
}

}  // namespace volvox
