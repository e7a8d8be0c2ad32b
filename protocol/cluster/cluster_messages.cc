#include "protocol/cluster/cluster_messages.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace volvox {

ClusterBytes joined(std::vector<ClusterBytes> pieces) {
  std::size_t size = 0, at = 0;
  for (const ClusterBytes& piece : pieces) size += piece->size();
  WireBuffer whole = WireBuffer::unwritten(size);
  for (ClusterBytes& piece : pieces) {
    std::memcpy(whole.data() + at, piece->data(), piece->size());
    at += piece->size();
    piece.reset();
  }
  return std::make_shared<const WireBuffer>(std::move(whole));
}

}  // namespace volvox
