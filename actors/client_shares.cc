#include "actors/client_shares.h"

namespace volvox {

Result<std::shared_ptr<const void>> ClientShares::enter(const std::shared_ptr<ClientShares>& shares,
                                                        const ClientId& client, std::size_t bytes) {
  if (const Status taken = shares->take(client, bytes); !taken) return tl::unexpected(taken.error());
  return std::shared_ptr<const void>(
      shares.get(), [shares, client, bytes](const void*) { shares->give_back(client, bytes); });
}

Status ClientShares::take(const ClientId& client, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.try_emplace(client).first;
  Held& held = at->second;
  const bool too_many = held.requests >= max_requests_;
  if (too_many || held.bytes + bytes > max_bytes_) {
    if (held.requests == 0) held_.erase(at);
    return fail(ErrorCode::kOverloaded,
                too_many
                    ? "limits.max_requests_per_client requests of this client are in flight; wait for answers"
                    : "the bodies of this client's requests in flight would exceed "
                      "limits.max_request_mib_per_client; wait for answers");
  }
  ++held.requests;
  held.bytes += bytes;
  return {};
}

void ClientShares::give_back(const ClientId& client, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(client);
  at->second.bytes -= bytes;
  if (--at->second.requests == 0) held_.erase(at);
}

std::size_t ClientShares::clients() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

}  // namespace volvox
