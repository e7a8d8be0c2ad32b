#include "routing/sessions/session_errors.h"
#include "routing/sessions/session_table.h"

namespace volvox {

// Nothing of the session can run: what it has waits for a part that has not come, and finds room among others
// that wait so, or is refused, the last first.
void SessionTable::park(std::uint32_t index, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  std::uint32_t open = session.open.front();
  while (open != kNoIndex) {
    const std::uint32_t next = open_[open].links.next;
    if (!open_[open].parked) {
      open_[open].parked = parked_.fits(client_of(session), open_[open].bytes);
      if (open_[open].parked) {
        parked_.park(client_of(session), open_[open].bytes);
      } else {
        refuse(open_[open].request, index, parked_full_error(session.next), out);
        close(open);
      }
    }
    open = next;
  }
  if (session.open.empty() || session.stuck) return;
  session.stuck = true;
  session.stuck_since = now_;
  stuck_.push_back(sessions_, index);
}

// Something of it can run again, or nothing waits.
std::uint64_t SessionTable::client_of(const SessionRecord& session) const {
  return names_[session.holder].unknown() ? ParkedParts::kNobody : std::uint64_t{session.holder} + 1;
}

void SessionTable::unpark(std::uint32_t index) {
  SessionRecord& session = sessions_[index];
  if (!session.stuck) return;
  session.stuck = false;
  stuck_.erase(sessions_, index);
  for (std::uint32_t open = session.open.front(); open != kNoIndex; open = open_[open].links.next)
    leave_park(open);
}

void SessionTable::leave_park(std::uint32_t open) {
  if (!open_[open].parked) return;
  open_[open].parked = false;
  parked_.leave(client_of(sessions_[open_[open].session]), open_[open].bytes);
}

// A part that is missing for so long does not come by itself: its client must hear of it.
void SessionTable::refuse_stuck(SessionActions& out) {
  while (!stuck_.empty() && now_ - sessions_[stuck_.front()].stuck_since >= limits_.park) {
    const std::uint32_t index = stuck_.front();
    SessionRecord& session = sessions_[index];
    unpark(index);
    while (!session.open.empty()) {
      refuse(open_[session.open.front()].request, index, missing_part_error(session.next), out);
      close(session.open.front());
      ++stats_.parked_too_long;
    }
    settle(index, out);
  }
}

}  // namespace volvox
