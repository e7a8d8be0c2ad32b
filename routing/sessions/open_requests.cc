#include "routing/sessions/open_requests.h"

#include "routing/sessions/session_errors.h"

namespace volvox {

void OpenRequests::enter(std::uint32_t session, std::uint64_t client) {
  if (session >= sessions_.size()) sessions_.resize(session + 1);
  sessions_[session] = {};
  sessions_[session].client = client;
}

Result<SessionTicket> OpenRequests::take(std::uint32_t index, const SessionRequest& request) {
  Session& session = sessions_[index];
  if (auto ok = check_room(session, request.sequence); !ok) return tl::unexpected(ok.error());
  const auto behind = place_of(session, request);
  if (!behind) return tl::unexpected(behind.error());
  const std::uint32_t open = open_.take();
  OpenRequest& record = open_[open];
  record.request = request.request;
  record.sequence = request.sequence;
  record.session = index;
  record.memory = request.memory;
  record.last = request.verb == SessionVerb::kEnd;
  record.empty = request.empty;
  record.content = request.content;
  session.open.insert_after(open_, *behind, open);
  return SessionTicket{open, open_.generation(open)};
}

Status OpenRequests::check_room(const Session& session, std::uint64_t sequence) const {
  if (sequence - session.next > max_waiting_) {
    return tl::unexpected(too_far_ahead_error(session.next, max_waiting_));
  }
  // The part that comes next always finds room: all others wait for it.
  const bool next_is_here = !session.open.empty() && open_[session.open.front()].sequence == session.next;
  if (sequence == session.next && !next_is_here) return {};
  const std::size_t waiting = session.open.size() - (next_is_here ? 1 : 0);
  if (waiting >= max_waiting_) return tl::unexpected(too_many_waiting_error(max_waiting_));
  return {};
}

// Behind which one it comes; kNoIndex: it is the first.
Result<std::uint32_t> OpenRequests::place_of(const Session& session, const SessionRequest& request) {
  std::uint32_t behind = session.open.back();
  while (behind != kNoIndex && open_[behind].sequence > request.sequence) behind = open_[behind].links.prev;
  if (behind == kNoIndex || open_[behind].sequence != request.sequence) return behind;
  const OpenRequest& same = open_[behind];
  if (same.last != (request.verb == SessionVerb::kEnd) || same.empty != request.empty)
    return tl::unexpected(conflicting_part_error(request.sequence));
  if (same.content != request.content) {
    ++conflicts_;
    return tl::unexpected(other_content_error(request, session.next));
  }
  return behind;
}

const OpenRequest* OpenRequests::ready(std::uint32_t session) const {
  const std::uint32_t first = sessions_[session].open.front();
  return first != kNoIndex && open_[first].sequence == next(session) ? &open_[first] : nullptr;
}

OpenRequest OpenRequests::pop(std::uint32_t session) {
  const std::uint32_t first = sessions_[session].open.front();
  const OpenRequest popped = open_[first];
  close(first);
  return popped;
}

std::optional<OpenRequest> OpenRequests::withdraw(SessionTicket ticket) {
  if (!open_.valid(ticket.index, ticket.generation)) return std::nullopt;
  const OpenRequest withdrawn = open_[ticket.index];
  close(ticket.index);
  return withdrawn;
}

void OpenRequests::close(std::uint32_t open) {
  leave_park(open);
  sessions_[open_[open].session].open.erase(open_, open);
  open_.give_back(open);
}

void OpenRequests::park(std::uint32_t index, TimePoint now, std::vector<OpenRequest>& refused) {
  Session& session = sessions_[index];
  for (std::uint32_t open = session.open.front(), after = kNoIndex; open != kNoIndex; open = after) {
    OpenRequest& request = open_[open];
    after = request.links.next;
    if (request.parked) continue;
    request.parked = parked_.fits(session.client, request.memory);
    if (request.parked) {
      parked_.park(session.client, request.memory);
    } else {
      refused.push_back(request);
      close(open);
    }
  }
  if (session.open.empty()) return unpark(index);
  if (session.stuck) return;
  session.stuck = true;
  session.stuck_since = now;
  stuck_.push_back(sessions_, index);
}

void OpenRequests::unpark(std::uint32_t index) {
  Session& session = sessions_[index];
  if (!session.stuck) return;
  session.stuck = false;
  stuck_.erase(sessions_, index);
  for (std::uint32_t open = session.open.front(); open != kNoIndex; open = open_[open].links.next)
    leave_park(open);
}

void OpenRequests::leave_park(std::uint32_t open) {
  if (!open_[open].parked) return;
  open_[open].parked = false;
  parked_.leave(sessions_[open_[open].session].client, open_[open].memory);
}

}  // namespace volvox
