#include "routing/sessions/copy_watch.h"

#include <utility>

namespace volvox {

void CopyWatch::begun(std::uint32_t device, SessionRef session, TimePoint now) {
  Copies& copies = devices_[device];
  if (copies.sessions.empty()) copies.since = now;
  copies.sessions.push_back(session);
}

bool CopyWatch::ended(std::uint32_t device, TimePoint now) {
  Copies& copies = devices_[device];
  copies.sessions.pop_front();
  if (copies.said > 0) --copies.said;
  copies.since = now;
  return std::exchange(copies.hangs, false);
}

std::vector<SessionRef> CopyWatch::given_up(std::uint32_t device, TimePoint now) {
  Copies& copies = devices_[device];
  if (copies.sessions.empty() || now < later(copies.since, patience_)) return {};
  copies.hangs = true;
  const std::size_t before = std::exchange(copies.said, copies.sessions.size());
  return {copies.sessions.begin() + static_cast<std::ptrdiff_t>(before), copies.sessions.end()};
}

std::optional<TimePoint> CopyWatch::next() const {
  std::optional<TimePoint> first;
  for (const Copies& copies : devices_) {
    if (copies.said == copies.sessions.size()) continue;
    const TimePoint at = later(copies.since, patience_);
    if (!first || at < *first) first = at;
  }
  return first;
}

}  // namespace volvox
