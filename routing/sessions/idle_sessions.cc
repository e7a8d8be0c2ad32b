#include "routing/sessions/idle_sessions.h"

namespace volvox {

void IdleSessions::add(std::uint32_t session, std::uint32_t holder, TimePoint now) {
  if (session >= records_.size()) records_.resize(session + 1);
  if (holder >= of_holder_.size()) of_holder_.resize(holder + 1);
  records_[session].idle = true;
  records_[session].holder = holder;
  records_[session].since = now;
  all_.push_back(records_, session);
  of_holder_[holder].push_back(records_, session);
}

void IdleSessions::remove(std::uint32_t session) {
  if (!contains(session)) return;
  records_[session].idle = false;
  all_.erase(records_, session);
  of_holder_[records_[session].holder].erase(records_, session);
}

void IdleSessions::touch(std::uint32_t session, TimePoint now) {
  if (!contains(session)) return;
  records_[session].since = now;
  all_.move_to_back(records_, session);
  of_holder_[records_[session].holder].move_to_back(records_, session);
}

std::optional<std::uint32_t> IdleSessions::first_since(TimePoint since) const {
  if (all_.empty() || records_[all_.front()].since > since) return std::nullopt;
  return all_.front();
}

std::optional<TimePoint> IdleSessions::oldest() const {
  return all_.empty() ? std::nullopt : std::optional(records_[all_.front()].since);
}

}  // namespace volvox
