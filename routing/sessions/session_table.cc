#include "routing/sessions/session_table.h"

#include <algorithm>

#include "routing/sessions/session_errors.h"

namespace volvox {

SessionTable::SessionTable(const SessionLimits& limits)
    : limits_(limits),
      kept_(limits.max_kept_outputs, limits.max_kept_bytes, limits.max_kept_bytes_total),
      nonces_(0, NonceHash{limits.hash_seed}),
      parked_(limits.parked),
      places_allowed_(limits.max_resident) {}

std::size_t SessionTable::NonceHash::operator()(const ScopedNonce& key) const {
  std::uint64_t h = seed;
  for (const std::uint64_t word : {std::uint64_t{key.scope}, key.nonce.lo, key.nonce.hi}) {
    h = (h ^ word) + 0x9e3779b97f4a7c15ULL;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    h ^= h >> 31;
  }
  return h;
}

void SessionTable::tick(TimePoint now, SessionActions& out) {
  advance(now);
  refuse_stuck(out);
  while (!idle_.empty() && now_ - sessions_[idle_.front()].since >= limits_.idle_expiry) {
    release(idle_.front(), SessionEnd::kExpired, out);
  }
  while (!gone_.empty() && now_ - sessions_[gone_.front()].since >= limits_.remember) forget(gone_.front());
}

std::optional<TimePoint> SessionTable::next_wakeup() const {
  std::optional<TimePoint> when;
  if (!idle_.empty()) when = sessions_[idle_.front()].since + limits_.idle_expiry;
  const auto not_later = [&](TimePoint at) { when = when ? std::min(*when, at) : at; };
  if (!gone_.empty()) not_later(sessions_[gone_.front()].since + limits_.remember);
  if (!stuck_.empty()) not_later(sessions_[stuck_.front()].stuck_since + limits_.park);
  return when;
}

SessionStats SessionTable::stats() const {
  SessionStats stats = stats_;
  stats.remembered = gone_.size();
  stats.resident = places_made_ - free_places_.size();
  stats.copying = spilling_ + restoring_;
  stats.in_line = line_.size();
  stats.waiting = open_.used() - awaited_;
  stats.parked = parked_.parts();
  stats.parked_bytes = parked_.bytes();
  stats.kept_outputs = kept_.count();
  stats.kept_bytes = kept_.bytes();
  stats.spilled_bytes = held_spilled_.total();
  stats.clients = held_sessions_.count();
  stats.most_sessions = held_sessions_.most();
  stats.most_kept_bytes = kept_.most();
  stats.most_spilled_bytes = held_spilled_.most();
  return stats;
}

std::size_t SessionTable::live_of(const ModelIdentity& model) const {
  std::size_t count = 0;
  for (std::uint32_t index = 0; index < sessions_.size(); ++index) {
    const SessionRecord& session = sessions_[index];
    count += sessions_.in_use(index) && !session.released && session.model == model ? 1 : 0;
  }
  return count;
}

std::optional<SessionRef> SessionTable::find(const SessionId& id) const {
  const auto found = ids_.find(id);
  if (found == ids_.end() || sessions_[found->second].released) return std::nullopt;
  return ref(found->second);
}

}  // namespace volvox
