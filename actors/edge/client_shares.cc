#include "actors/edge/client_shares.h"

namespace volvox {
namespace {

// Where there are keys every connection has one, so that names and connections never meet in one table.
const std::string& client_of(const Caller& caller) {
  return caller.account.empty() ? caller.connection : caller.account;
}

std::size_t mib(std::uint32_t count) {
  return std::size_t{count} << 20;
}

Error too_much(const Caller& caller, bool too_many) {
  if (caller.account.empty()) {
    return {ErrorCode::kOverloaded,
            too_many
                ? "limits.max_requests_per_client requests of this client are in flight; wait for answers"
                : "the bodies of this client's requests in flight would exceed "
                  "limits.max_request_mib_per_client; wait for answers"};
  }
  const std::string whose = "over all its connections, client '" + caller.account + "' ";
  return {ErrorCode::kOverloaded,
          whose + (too_many ? "has as many requests in flight as it may; wait for answers"
                            : "would have more MiB of bodies in flight than it may; wait for answers")};
}

}  // namespace

ClientShares::ClientShares(const ServeConfig& config)
    : usual_{config.limits.max_requests_per_client, mib(config.limits.max_request_mib_per_client)} {
  for (const ClientSection& client : config.client) {
    Bounds bounds = usual_;
    if (client.max_requests != 0) bounds.requests = client.max_requests;
    if (client.max_request_mib != 0) bounds.bytes = mib(client.max_request_mib);
    special_.emplace(client.name, bounds);
  }
}

Result<ClientShare> ClientShares::enter(const std::shared_ptr<ClientShares>& shares, const Caller& caller,
                                        const InFlightAmount& amount) {
  std::string client = client_of(caller);
  if (const Status taken = shares->take(caller, amount.requests, amount.bytes); !taken)
    return tl::unexpected(taken.error());
  return ClientShare(shares, {std::move(client), amount.requests, amount.bytes});
}

std::vector<ClientShare> ClientShares::enter_parts(const std::shared_ptr<ClientShares>& shares,
                                                   const Caller& caller, std::size_t parts) {
  std::vector<ClientShare> taken;
  taken.reserve(parts);
  while (taken.size() < parts) {
    std::string client = client_of(caller);
    if (!shares->take(caller, 1, 0)) break;
    taken.emplace_back(shares, ClientAmount{std::move(client), 1, 0});
  }
  return taken;
}

Error ClientShares::too_many(const Caller& caller) {
  return too_much(caller, true);
}

const ClientShares::Bounds& ClientShares::bounds_of(const Caller& caller) const {
  const auto found = special_.find(caller.account);
  return found == special_.end() ? usual_ : found->second;
}

Status ClientShares::take(const Caller& caller, std::size_t requests, std::size_t bytes) {
  const Bounds& bounds = bounds_of(caller);
  const std::lock_guard lock(mutex_);
  const auto at = held_.try_emplace(client_of(caller)).first;
  Bounds& held = at->second;
  const bool too_many = held.requests + requests > bounds.requests;
  if (too_many || held.bytes + bytes > bounds.bytes) {
    if (held.requests == 0 && held.bytes == 0) held_.erase(at);
    return tl::unexpected(too_much(caller, too_many));
  }
  held.requests += requests;
  held.bytes += bytes;
  return {};
}

void ClientShares::give_back(const ClientAmount& share) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(share.client);
  if (at == held_.end()) return;  // of nothing: a body without bytes
  at->second.bytes -= share.bytes;
  at->second.requests -= share.requests;
  if (at->second.requests == 0 && at->second.bytes == 0) held_.erase(at);
}

std::size_t ClientShares::clients() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

}  // namespace volvox
