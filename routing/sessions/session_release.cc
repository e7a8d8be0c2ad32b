#include "routing/sessions/session_errors.h"
#include "routing/sessions/session_table.h"

namespace volvox {

// Nothing of the session runs or can run.
void SessionTable::become_idle(std::uint32_t index, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  park(index, out);
  if (session.open.empty()) unpark(index);
  // Its begin failed, so nobody knows its id: it would only take another's room.
  const bool unreachable = session.next == 0 && session.open.empty();
  if (unreachable && !draining_) return release(index, SessionEnd::kEnded, out);
  if (session.idle) return;
  leave_line(index);
  if (draining_) return release(index, SessionEnd::kDraining, out);
  session.idle = true;
  session.since = now_;
  idle_.push_back(sessions_, index);
  clients_[session.holder].idle.push_back(sessions_, index);
  if (session.where == Where::kSpilled) put_with_put_away(index);
  if (session.where != Where::kResident) return;
  if (!session.has_state) {
    give_up_place(index, Where::kNowhere, out);
    return serve_line(out);
  }
  put_with_spare(index);
  make_spare_room(out);
}

void SessionTable::put_with_spare(std::uint32_t index) {
  sessions_[index].spare = true;
  spare_.push_back(sessions_, index);
}

void SessionTable::put_with_put_away(std::uint32_t index) {
  sessions_[index].put_away = true;
  clients_[sessions_[index].holder].put_away.push_back(sessions_, index);
}

void SessionTable::leave_idle(std::uint32_t index) {
  SessionRecord& session = sessions_[index];
  unpark(index);
  SessionClient& client = clients_[session.holder];
  if (session.idle) idle_.erase(sessions_, index);
  if (session.idle) client.idle.erase(sessions_, index);
  if (session.spare) spare_.erase(sessions_, index);
  if (session.put_away) client.put_away.erase(sessions_, index);
  session.idle = session.spare = session.put_away = false;
}

// Its client was heard of.
void SessionTable::touch(std::uint32_t index) {
  SessionRecord& session = sessions_[index];
  if (!session.idle) return;
  session.since = now_;
  const auto to_the_end = [&](auto& list) {
    list.erase(sessions_, index);
    list.push_back(sessions_, index);
  };
  to_the_end(idle_);
  to_the_end(clients_[session.holder].idle);
  if (session.spare) to_the_end(spare_);
  if (session.put_away) to_the_end(clients_[session.holder].put_away);
}

void SessionTable::release(SessionRef session, SessionEnd reason, TimePoint now, SessionActions& out) {
  if (!valid(session)) return;
  advance(now);
  release(session.index, reason, out);
}

void SessionTable::release(std::uint32_t index, SessionEnd reason, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  if (session.released) return;
  session.released = true;
  session.reason = reason;
  ++stats_.releases[static_cast<std::size_t>(reason)];
  --stats_.live;
  leave_idle(index);
  leave_line(index);
  if (session.running && !session.discard) {
    session.discard = true;
    --awaited_;
    out.push_back(action(SessionAction::Kind::kStop, index));
  }
  while (!session.open.empty()) {
    refuse(open_[session.open.front()].request, index, ended_error(session), out);
    close(session.open.front());
  }
  // The last part's answer may get lost as any other.
  kept_.acknowledge(session.kept, session.closed ? session.next - 1 : session.next);
  if (session.running || session.where == Where::kSpilling || session.where == Where::kRestoring) {
    ++stats_.ending;
    return;
  }
  let_go(index, out);
  serve_line(out);
}

// The device is done with a session that was released: only a memory stays. Not of one that never answered:
// there is nothing to repeat, and its nonce may begin anew.
void SessionTable::let_go(std::uint32_t index, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  if (session.where == Where::kResident) give_up_place(index, Where::kNowhere, out);
  if (session.where == Where::kSpilled) {
    out.push_back(action(SessionAction::Kind::kForget, index));
    session.where = Where::kNowhere;
    --stats_.spilled;
    held_spilled_.remove(session.holder, session.state_bytes);
  }
  held_sessions_.remove(session.holder, 1);
  session.since = now_;
  gone_.push_back(sessions_, index);
  if (session.next == 0) return forget(index);
  while (gone_.size() > limits_.max_remembered) forget(gone_.front());
}

void SessionTable::forget(std::uint32_t index) {
  SessionRecord& session = sessions_[index];
  gone_.erase(sessions_, index);
  kept_.clear(session.kept);
  ids_.erase(session.id);
  if (session.nonce != SessionNonce{}) nonces_.erase(scoped(names_[session.holder], session.nonce));
  names_.release(session.holder);
  sessions_.give_back(index);
}

void SessionTable::release_if(const std::function<bool(const SessionRecord&)>& which, SessionEnd reason,
                              SessionActions& out) {
  // Chosen first: an end may bring another session to the device.
  std::vector<SessionRef> chosen;
  for (std::uint32_t index = 0; index < sessions_.size(); ++index) {
    if (sessions_.in_use(index) && which(sessions_[index])) chosen.push_back(ref(index));
  }
  for (const SessionRef& session : chosen) {
    if (valid(session)) release(session.index, reason, out);
  }
}

void SessionTable::release_model(const ModelIdentity& model, SessionEnd reason, TimePoint now,
                                 SessionActions& out) {
  advance(now);
  release_if([&](const SessionRecord& session) { return session.model == model; }, reason, out);
}

void SessionTable::release_resident(const std::function<bool(StateSlot)>& which, SessionEnd reason,
                                    TimePoint now, SessionActions& out) {
  advance(now);
  release_if(
      [&](const SessionRecord& session) { return session.place != kNoIndex && which(slot(session, 0)); },
      reason, out);
}

void SessionTable::release_all(SessionEnd reason, TimePoint now, SessionActions& out) {
  advance(now);
  release_if([](const SessionRecord&) { return true; }, reason, out);
}

void SessionTable::drain(TimePoint now, SessionActions& out) {
  advance(now);
  draining_ = true;
  while (!idle_.empty()) release(idle_.front(), SessionEnd::kDraining, out);
}

}  // namespace volvox
