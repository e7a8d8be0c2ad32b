#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "config/schema.h"
#include "protocol/outgoing_reply.h"

namespace volvox {

// One client must not use up what all of them share. Counts what each holds until the last actor has
// forgotten its requests. Any thread.
class ClientShares {
 public:
  explicit ClientShares(const LimitsSection& limits)
      : max_requests_(limits.max_requests_per_client),
        max_bytes_(std::size_t{limits.max_request_mib_per_client} << 20) {}

  // A share of the client's bounds, given back by its destructor; or OVERLOADED, naming the bound.
  static Result<std::shared_ptr<const void>> enter(const std::shared_ptr<ClientShares>& shares,
                                                   const ClientId& client, std::size_t bytes);

  std::size_t clients() const;  // that hold something

 private:
  struct Held {
    std::size_t requests = 0, bytes = 0;
  };

  Status take(const ClientId& client, std::size_t bytes);
  void give_back(const ClientId& client, std::size_t bytes);

  const std::size_t max_requests_, max_bytes_;
  mutable std::mutex mutex_;
  std::unordered_map<ClientId, Held> held_;
};

}  // namespace volvox
