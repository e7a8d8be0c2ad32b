#include "serving/session_limits.h"

#include <algorithm>
#include <chrono>

#include "serving/parked_limits.h"

namespace volvox {
namespace {

std::uint64_t mib(std::uint32_t count) {
  return std::uint64_t{count} << 20;
}

// 0: all of it, for whoever has most gives way to others.
SessionShare usual_share(const SessionsSection& config) {
  SessionShare share;
  const std::uint32_t all_but_a_tenth = config.max_sessions - config.max_sessions / 10;
  share.sessions = config.max_sessions_per_client == 0 ? all_but_a_tenth : config.max_sessions_per_client;
  if (config.max_kept_mib_per_client != 0) share.kept_bytes = mib(config.max_kept_mib_per_client);
  if (config.spill_mib_per_client != 0) share.spilled_bytes = mib(config.spill_mib_per_client);
  return share;
}

}  // namespace

SessionLimits session_limits(const ServeConfig& config, std::uint32_t resident) {
  const SessionsSection& sessions = config.sessions;
  SessionLimits limits;
  limits.max_sessions = sessions.max_sessions;
  limits.max_resident = std::max(1U, resident);
  limits.max_waiting = sessions.max_waiting;
  limits.max_kept_outputs = sessions.max_kept_outputs;
  limits.max_kept_bytes = std::uint64_t{sessions.max_kept_kib} << 10;
  limits.max_kept_bytes_total = mib(sessions.max_kept_mib_total);
  limits.max_spilled_bytes = mib(sessions.spill_mib);
  limits.max_remembered = sessions.max_remembered;
  limits.remember = std::chrono::milliseconds(sessions.remember_ms);
  limits.idle_expiry = std::chrono::milliseconds(sessions.idle_expiry_ms);
  limits.park = std::chrono::milliseconds(sessions.park_ms);
  limits.parked = parked_limits(config);
  limits.evict_idle = std::chrono::milliseconds(sessions.evict_idle_ms);
  limits.share = usual_share(sessions);
  for (const ClientSection& client : config.client) {
    SessionShare share = limits.share;
    if (client.max_sessions != 0) share.sessions = client.max_sessions;
    if (client.max_kept_mib != 0) share.kept_bytes = mib(client.max_kept_mib);
    if (client.spill_mib != 0) share.spilled_bytes = mib(client.spill_mib);
    limits.shares.emplace(client.name, share);
  }
  return limits;
}

}  // namespace volvox
