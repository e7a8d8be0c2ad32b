#include "routing/sessions/session.h"

#include <string>

namespace volvox {
namespace {

// Longer ones are mistakes, and could overflow an instant.
constexpr Duration kLongest = std::chrono::hours(24 * 366);
constexpr std::uint32_t kMostRecords = 1U << 30;
constexpr std::uint32_t kMostWaiting = 1024;

Status in_range(const char* name, Duration value, Duration least) {
  if (value >= least && value <= kLongest) return {};
  return invalid(std::string(name) + " must be from " + std::to_string(least.count()) + " ns to 366 days");
}

}  // namespace

std::string_view to_string(SessionEnd reason) {
  switch (reason) {
    case SessionEnd::kEnded:
      return "ended";
    case SessionEnd::kExpired:
      return "expired";
    case SessionEnd::kLost:
      return "lost";
    case SessionEnd::kEvicted:
      return "evicted";
    case SessionEnd::kDraining:
      return "draining";
  }
  return "lost";
}

SessionAction& SessionName::act(SessionAction::Kind kind, SessionActions& out) const {
  SessionAction& action = out.emplace_back();
  action.kind = kind;
  action.session = ref;
  action.id = id;
  action.epoch = epoch;
  return action;
}

SessionShare SessionLimits::share_of(const HolderName& client) const {
  if (client.unknown()) return {};  // many, perhaps
  const auto own = shares.find(client.account);
  return own == shares.end() ? share : own->second;
}

Status check(const SessionLimits& limits) {
  if (limits.max_resident == 0 || limits.max_resident > kMostRecords) {
    return invalid("max_resident must be from 1 to " + std::to_string(kMostRecords));
  }
  if (limits.max_sessions > kMostRecords || limits.max_remembered > kMostRecords) {
    return invalid("max_sessions and max_remembered must be at most " + std::to_string(kMostRecords));
  }
  if (limits.max_waiting > kMostWaiting || limits.max_kept_outputs > kMostWaiting) {
    return invalid("max_waiting and max_kept_outputs must be at most " + std::to_string(kMostWaiting));
  }
  if (auto ok = in_range("idle_expiry", limits.idle_expiry, Duration{1}); !ok) return ok;
  if (auto ok = in_range("park", limits.park, Duration{1}); !ok) return ok;
  if (auto ok = in_range("remember", limits.remember, Duration{0}); !ok) return ok;
  return in_range("evict_idle", limits.evict_idle, Duration{0});
}

}  // namespace volvox
