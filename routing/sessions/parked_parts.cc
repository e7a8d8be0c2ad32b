#include "routing/sessions/parked_parts.h"

namespace volvox {

bool ParkedParts::fits(std::uint64_t client, std::uint64_t bytes) const {
  if (parts_ >= limits_.parts || bytes > limits_.bytes || bytes_ > limits_.bytes - bytes) return false;
  const auto own = of_client_.find(client);
  return client == kNobody || own == of_client_.end() ? limits_.parts_per_client > 0
                                                      : own->second < limits_.parts_per_client;
}

void ParkedParts::park(std::uint64_t client, std::uint64_t bytes) {
  ++parts_;
  bytes_ += bytes;
  if (client != kNobody) ++of_client_[client];
}

void ParkedParts::leave(std::uint64_t client, std::uint64_t bytes) {
  --parts_;
  bytes_ -= bytes;
  const auto own = of_client_.find(client);
  if (own != of_client_.end() && --own->second == 0) of_client_.erase(own);
}

}  // namespace volvox
