#include "routing/sessions/parked_parts.h"

namespace volvox {

bool ParkedParts::fits(std::uint64_t client, const PartMemory& memory) const {
  const bool more = memory.bundle != 0 && !of_bundle_.contains(memory.bundle);
  const std::uint64_t bytes = memory.bytes + (more ? memory.bundle_bytes : 0);
  if (parts_ >= limits_.parts || bytes > limits_.bytes || bytes_ > limits_.bytes - bytes) return false;
  const auto own = of_client_.find(client);
  return client == kNobody || own == of_client_.end() ? limits_.parts_per_client > 0
                                                      : own->second < limits_.parts_per_client;
}

void ParkedParts::park(std::uint64_t client, const PartMemory& memory) {
  ++parts_;
  bytes_ += memory.bytes;
  if (memory.bundle != 0 && ++of_bundle_[memory.bundle] == 1) bytes_ += memory.bundle_bytes;
  if (client != kNobody) ++of_client_[client];
}

void ParkedParts::leave(std::uint64_t client, const PartMemory& memory) {
  --parts_;
  bytes_ -= memory.bytes;
  const auto bundle = of_bundle_.find(memory.bundle);
  if (bundle != of_bundle_.end() && --bundle->second == 0) {
    bytes_ -= memory.bundle_bytes;
    of_bundle_.erase(bundle);
  }
  const auto own = of_client_.find(client);
  if (own != of_client_.end() && --own->second == 0) of_client_.erase(own);
}

}  // namespace volvox
