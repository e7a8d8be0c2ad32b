#include "routing/sessions/session_errors.h"
#include "routing/sessions/session_table.h"

namespace volvox {

SessionTicket SessionTable::submit(const SessionRequest& request, TimePoint now, SessionActions& out) {
  advance(now);
  const auto index = locate(request, out);
  if (!index) {
    refuse(request.request, kNoIndex, index.error(), out);
    return {};
  }
  Status ok = check_token(*index, request, out);
  // check_token() may have ended the session, but then the request is refused.
  if (ok && (sessions_[*index].released || request.sequence < sessions_[*index].next)) {
    ok = answer_from_kept(*index, request, out);
    if (ok) return {};
  }
  if (ok) ok = check_room(sessions_[*index], request);
  const auto open = ok ? insert(*index, request) : tl::unexpected<Error>(ok.error());
  if (!open) {
    refuse(request.request, kNoIndex, open.error(), out);
    return {};
  }
  const SessionTicket ticket{*open, open_.generation(*open)};
  kept_.acknowledge(sessions_[*index].kept, request.sequence);
  touch(*index);
  settle(*index, out);
  return ticket;
}

Result<std::uint32_t> SessionTable::locate(const SessionRequest& request, SessionActions& out) {
  if (request.empty && request.verb != SessionVerb::kEnd) {
    return invalid("only the end of a session may come without a part to run; send inputs");
  }
  if (request.verb == SessionVerb::kBegin) return locate_begin(request, out);
  if (request.id == SessionId{}) return tl::unexpected(no_session_error());
  const auto found = ids_.find(request.id);
  if (found == ids_.end()) return tl::unexpected(unknown_session_error());
  if (names_[sessions_[found->second].holder].account != request.client.account)
    return tl::unexpected(other_client_error());
  return found->second;
}

Result<std::uint32_t> SessionTable::locate_begin(const SessionRequest& request, SessionActions& out) {
  if (request.sequence != 0) return invalid("a session begins with part 0; send sequence 0");
  if (request.nonce != SessionNonce{}) {
    const auto found = nonces_.find(scoped(request.client, request.nonce));
    if (found != nonces_.end()) return found->second;
  }
  if (draining_) return tl::unexpected(draining_error());
  if (!request.loaded) return fail(ErrorCode::kModelNotFound, "no such model is loaded; check its name");
  if (request.id == SessionId{} || ids_.contains(request.id)) {
    return fail(ErrorCode::kInternal, "the server drew an id that is taken; begin again");
  }
  if (auto ok = make_room_for_one(request.client, out); !ok) return tl::unexpected(ok.error());
  return make_session(request);
}

// Nobody else's: he would be told another's session, and its first answer.
SessionTable::ScopedNonce SessionTable::scoped(const HolderName& client, const SessionNonce& nonce) const {
  const bool secret = client.account.empty() && nonce.hi != 0;
  return {secret ? kAnybody : names_.find(client), nonce};
}

SessionShare SessionTable::share_of(const HolderName& client) const {
  if (client.unknown()) return {};  // many, perhaps
  const auto own = limits_.shares.find(client.account);
  return own == limits_.shares.end() ? limits_.share : own->second;
}

// A full table gives up first what was idle for long enough, then an idle session of whoever has most, unless
// that is the one who asks, or would be then.
Status SessionTable::make_room_for_one(const HolderName& client, SessionActions& out) {
  const std::uint32_t holder = names_.find(client);
  const SessionShare share = share_of(client);
  if (held_sessions_.of(holder) >= share.sessions) {
    ++stats_.over_share;
    return tl::unexpected(too_many_sessions_error(share.sessions));
  }
  const auto full = [this] { return stats_.live + stats_.ending >= limits_.max_sessions; };
  if (!full()) return {};
  const std::uint32_t oldest = idle_.front();
  // One that is being copied would go on to count until that is done.
  if (limits_.evict_idle > Duration{0} && oldest != kNoIndex && sessions_[oldest].where != Where::kSpilling &&
      now_ - sessions_[oldest].since >= limits_.evict_idle) {
    release(oldest, SessionEnd::kEvicted, out);
  }
  const std::uint32_t biggest = held_sessions_.biggest();
  if (full() && biggest != kNoIndex && held_sessions_.most() > held_sessions_.of(holder) + 1) {
    const std::uint32_t victim = first_idle(clients_[biggest]);
    if (victim != kNoIndex) give_way(victim, out);
  }
  if (full()) return tl::unexpected(table_full_error(limits_.max_sessions));
  return {};
}

// Not one that is being copied.
std::uint32_t SessionTable::first_idle(const SessionClient& client) const {
  std::uint32_t index = client.idle.front();
  while (index != kNoIndex && sessions_[index].where == Where::kSpilling)
    index = sessions_[index].by_client.next;
  return index;
}

void SessionTable::give_way(std::uint32_t index, SessionActions& out) {
  ++stats_.gave_way;
  release(index, SessionEnd::kEvicted, out);
}

std::uint32_t SessionTable::make_session(const SessionRequest& request) {
  const std::uint32_t index = sessions_.take();
  SessionRecord& session = sessions_[index];
  session.id = request.id;
  session.holder = names_.refer(request.client);
  session.state_bytes = request.state_bytes;
  if (session.holder >= clients_.size()) clients_.resize(session.holder + 1);
  clients_[session.holder].share = share_of(request.client);
  session.kept.holder = session.holder;
  session.kept.share = clients_[session.holder].share.kept_bytes;
  held_sessions_.add(session.holder, 1);
  session.nonce = request.nonce;
  session.epoch = limits_.epoch;
  session.model = request.served;
  ids_.emplace(request.id, index);
  if (request.nonce != SessionNonce{}) nonces_.emplace(scoped(request.client, request.nonce), index);
  ++stats_.live;
  ++stats_.begun;
  return index;
}

Status SessionTable::check_token(std::uint32_t index, const SessionRequest& request, SessionActions& out) {
  const SessionRecord& session = sessions_[index];
  const bool begins = request.verb == SessionVerb::kBegin;
  if ((begins ? request.served : request.model) != session.model) {
    return tl::unexpected(other_model_error());
  }
  if (!begins && request.epoch < session.epoch) {
    return tl::unexpected(old_epoch_error(request.epoch, session.epoch));
  }
  if (!begins && request.epoch > session.epoch) {
    return tl::unexpected(new_epoch_error(request.epoch, session.epoch));
  }
  if (session.released || (request.loaded && request.served == session.model)) return {};
  release(index, SessionEnd::kLost, out);
  return tl::unexpected(model_gone_error());
}

Status SessionTable::answer_from_kept(std::uint32_t index, const SessionRequest& request,
                                      SessionActions& out) {
  SessionRecord& session = sessions_[index];
  const bool ends = request.verb == SessionVerb::kEnd;
  const bool repeats_the_end =
      session.closed && ends && request.sequence + 1 == session.next && request.empty == session.closed_empty;
  if (session.released && !repeats_the_end) return tl::unexpected(ended_error(session));
  if (!session.released && ends) return tl::unexpected(not_the_last_error(request.sequence, session.next));
  const KeptOutput* kept = kept_.find(session.kept, request.sequence);
  if (kept == nullptr) return tl::unexpected(nothing_kept_error(request.sequence, session.next));
  if (kept->content != request.content) {
    ++stats_.conflicts;
    return tl::unexpected(other_content_error(request, session.next));
  }
  SessionAction& answer = out.emplace_back(action(SessionAction::Kind::kAnswer, index));
  answer.request = request.request;
  answer.sequence = request.sequence;
  answer.last = ends;
  answer.repeated = true;
  answer.output = kept->output;
  ++stats_.repeated;
  kept_.acknowledge(session.kept, request.sequence);
  touch(index);
  return {};
}

Status SessionTable::check_room(const SessionRecord& session, const SessionRequest& request) const {
  if (request.sequence - session.next > limits_.max_waiting) {
    return tl::unexpected(too_far_ahead_error(session.next, limits_.max_waiting));
  }
  // The part that comes next always finds room: all others wait for it.
  const bool next_is_here = ready(session);
  if (request.sequence == session.next && !next_is_here) return {};
  const std::size_t waiting = session.open.size() - (next_is_here ? 1 : 0);
  if (waiting >= limits_.max_waiting) return tl::unexpected(too_many_waiting_error(limits_.max_waiting));
  return {};
}

Result<std::uint32_t> SessionTable::insert(std::uint32_t index, const SessionRequest& request) {
  SessionRecord& session = sessions_[index];
  const bool ends = request.verb == SessionVerb::kEnd;
  std::uint32_t behind = session.open.back();
  while (behind != kNoIndex && open_[behind].sequence > request.sequence) behind = open_[behind].links.prev;
  if (behind != kNoIndex && open_[behind].sequence == request.sequence) {
    if (open_[behind].last != ends || open_[behind].empty != request.empty)
      return tl::unexpected(conflicting_part_error(request.sequence));
    if (open_[behind].content != request.content) {
      ++stats_.conflicts;
      return tl::unexpected(other_content_error(request, session.next));
    }
  }
  const std::uint32_t open = open_.take();
  OpenRequest& record = open_[open];
  record.request = request.request;
  record.sequence = request.sequence;
  record.session = index;
  record.bytes = request.bytes;
  record.last = ends;
  record.empty = request.empty;
  record.content = request.content;
  session.open.insert_after(open_, behind, open);
  return open;
}

}  // namespace volvox
