#include "actors/edge/edge_settings.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

namespace volvox {
namespace {

constexpr std::uint32_t kRefusals = 65'536;  // that may wait for the socket

}  // namespace

WireLimits wire_limits(const WireSection& wire) {
  WireLimits limits;
  limits.max_header_bytes = wire.max_header_bytes;
  limits.max_body_bytes = wire.max_body_bytes;
  limits.max_tensors = wire.max_tensors;
  limits.max_name_bytes = wire.max_name_bytes;
  limits.max_rank = wire.max_rank;
  limits.max_nodes = wire.max_nodes;
  limits.max_edges = wire.max_edges;
  limits.max_bundle_parts = wire.max_bundle_parts;
  limits.traversal_words = wire.traversal_words;
  limits.nesting = wire.nesting;
  return limits;
}

EdgeOptions edge_options(const ServeConfig& config) {
  EdgeOptions options;
  options.limits = wire_limits(config.wire);
  // Every request that is let in may be answered at once; and refusals come in bursts.
  const std::uint32_t requests = config.limits.max_requests_in_flight;
  options.replies_per_client = static_cast<int>(config.limits.max_replies_per_client);
  options.slow_client_bytes = std::size_t{config.limits.max_reply_mib_per_client} << 20;
  options.waiting_bytes = std::size_t{config.limits.max_reply_mib_waiting} << 20;
  options.receiving_bytes = std::size_t{config.limits.max_receiving_mib} << 20;
  options.connections = config.limits.max_connections;
  options.connections_per_address = config.limits.max_connections_per_address;
  options.connections_per_key = config.limits.max_connections_per_key;
  options.idle_after = std::chrono::milliseconds(config.limits.idle_client_ms);
  options.slow_client_patience = std::chrono::milliseconds(config.limits.slow_client_ms);
  options.queued_replies = std::size_t{requests} + kRefusals;
  options.queued_bytes = std::size_t{config.limits.max_result_mib_in_flight} << 20;
  return options;
}

Result<std::optional<EdgeKeys>> edge_keys(const SecuritySection& security) {
  if (security.server_key.empty()) return std::nullopt;
  auto server = read_secret_key(security.server_key);
  if (!server) return tl::unexpected(server.error());
  if (security.clients == "*") return EdgeKeys{std::move(*server), CurveClients::anybody()};
  auto clients = CurveClients::in_folder(security.clients, std::chrono::milliseconds(security.stale_keys_ms));
  if (!clients) return tl::unexpected(clients.error());
  return EdgeKeys{std::move(*server), std::move(*clients)};
}

TokenBuckets::Limits signal_limits(const LimitsSection& limits) {
  TokenBuckets::Limits signals;
  signals.per_second = limits.max_signals_per_client;
  signals.burst = static_cast<double>(limits.max_signals_per_client) + limits.max_requests_per_client;
  return signals;
}

// What a processor does with them takes it 10 us a part or more, and a part, on its way through the actors,
// waits for it some milliseconds: fewer would leave devices idle meanwhile, and many more lie in no cache
// when their turn comes.
std::size_t parts_at_once(const ServeConfig& config) {
  constexpr std::size_t kOfEach = 640;
  if (config.limits.max_parts_at_once != 0) return config.limits.max_parts_at_once;
  const std::size_t batches = std::size_t{config.batching.max_batch} * std::max(1U, config.device.count);
  return std::max(kOfEach * std::max(1U, std::thread::hardware_concurrency()), 2 * batches);
}

}  // namespace volvox
