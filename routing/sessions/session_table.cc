#include "routing/sessions/session_table.h"

#include <algorithm>
#include <utility>

#include "routing/sessions/session_errors.h"

namespace volvox {

using Where = StatePlaces::Where;

SessionTable::SessionTable(const SessionLimits& limits)
    : limits_(limits),
      directory_(limits),
      parts_(limits),
      places_(limits.max_resident, limits.max_spilled_bytes) {}

SessionTicket SessionTable::submit(const SessionRequest& request, TimePoint now, SessionActions& out) {
  advance(now);
  const auto ticket = take(request, out);
  if (ticket) return *ticket;
  parts_.refuse(request.request, ticket.error(), out);
  return {};
}

Result<SessionTicket> SessionTable::take(const SessionRequest& request, SessionActions& out) {
  auto session = directory_.locate(request);
  if (session && *session == kNoIndex) session = begin(request, out);
  if (!session) return tl::unexpected(session.error());
  const auto& ended = directory_.ended(*session);
  if (!ended && !(request.loaded && request.served == directory_.model(*session))) {
    release(*session, SessionEnd::kLost, out);
    return tl::unexpected(model_gone_error());
  }
  const auto ticket = parts_.take(*session, request, ended, out);
  if (!ticket) return ticket;
  if (parts_.next(*session) == SessionParts::Next::kNothing) {  // else it is not idle for long
    idle_.touch(*session, now_);
    places_.touch(*session);
  }
  if (*ticket != SessionTicket{}) settle(*session, out);
  return ticket;
}

Result<std::uint32_t> SessionTable::begin(const SessionRequest& request, SessionActions& out) {
  if (draining_) return tl::unexpected(draining_error());
  if (!request.loaded) return fail(ErrorCode::kModelNotFound, "no such model is loaded; check its name");
  if (request.id == SessionId{} || directory_.knows(request.id)) {
    return fail(ErrorCode::kInternal, "the server drew an id that is taken; begin again");
  }
  if (auto ok = make_room_for_one(request.client, out); !ok) return tl::unexpected(ok.error());
  const std::uint32_t session = directory_.enter(request);
  const SessionName name = directory_.name(session);
  const std::uint32_t holder = directory_.holder(session);
  const SessionShare share = limits_.share_of(request.client);
  parts_.enter(name, holder, share.kept_bytes,
               request.client.unknown() ? ParkedParts::kNobody : std::uint64_t{holder} + 1);
  places_.enter(name, holder, share.spilled_bytes, request.state_bytes);
  return session;
}

// A full table gives up first what was idle for long enough, then an idle session of whoever has most, unless
// that is the one who asks, or would be then. Not one that is being copied: it would go on to count until
// that is done.
Status SessionTable::make_room_for_one(const HolderName& client, SessionActions& out) {
  if (auto ok = directory_.check_share(client); !ok) return ok;
  const Holdings& held = directory_.held();
  const auto full = [&] { return held.total() >= limits_.max_sessions; };
  const auto may_go = [&](std::uint32_t session) { return places_.where(session) != Where::kSpilling; };
  const auto oldest = idle_.first_since(now_ - limits_.evict_idle);
  if (full() && limits_.evict_idle > Duration{0} && oldest && may_go(*oldest))
    release(*oldest, SessionEnd::kEvicted, out);
  if (full() && held.most() > held.of(directory_.holder_of(client)) + 1) {
    if (const auto victim = idle_.first_of(held.biggest(), may_go)) give_way(*victim, out);
  }
  if (full()) return tl::unexpected(table_full_error(limits_.max_sessions));
  return {};
}

void SessionTable::cancel(SessionTicket ticket, const Error& why, TimePoint now, SessionActions& out) {
  const auto session = parts_.cancel(ticket, why, out);
  if (!session) return;
  advance(now);
  settle(*session, out);
}

void SessionTable::refuse_all(SessionRef ref, const Error& why, TimePoint now, SessionActions& out) {
  if (!directory_.valid(ref) || directory_.ended(ref.index)) return;
  advance(now);
  parts_.refuse_all(ref.index, why, out);
  settle(ref.index, out);
}

// Called whenever something about a session has changed: finds out what it does now.
void SessionTable::settle(std::uint32_t session, SessionActions& out) {
  const Where where = places_.where(session);
  if (directory_.ended(session) || parts_.running(session) || where == Where::kRestoring) return;
  const SessionParts::Next next = parts_.next(session);
  if (next == SessionParts::Next::kNothing) return become_idle(session, out);
  leave_idle(session);
  if (next == SessionParts::Next::kEmptyEnd) {
    parts_.commit(session, {}, out);
    return release(session, SessionEnd::kEnded, out);
  }
  // Its slots are promised to another already: it goes on when they are free.
  if (where == Where::kSpilling) return;
  if (where == Where::kResident) {
    // Nobody idle could make room for those in line: who has had a part makes room.
    const bool yields = places_.line_is_stuck() && !places_.aside(session);
    return yields ? yield_place(session, out) : run(session, out);
  }
  places_.stand_in_line(session);
  serve_line(out);
}

void SessionTable::run(std::uint32_t session, SessionActions& out) {
  parts_.run(session, places_.read(session), places_.write(session), out);
}

void SessionTable::finished(SessionRef ref, PartResult result, TimePoint now, SessionActions& out) {
  const std::uint32_t session = ref.index;
  if (!directory_.valid(ref) || !parts_.running(session)) return;
  advance(now);
  const auto outcome = parts_.finished(session, std::move(result), out);
  if (directory_.ended(session)) {
    let_go(session, out);
    return serve_line(out);
  }
  if (outcome == SessionParts::Outcome::kClosed) return release(session, SessionEnd::kEnded, out);
  if (outcome == SessionParts::Outcome::kCommitted) places_.advance(session);
  settle(session, out);
}

// Nothing of the session runs or can run.
void SessionTable::become_idle(std::uint32_t session, SessionActions& out) {
  parts_.park(session, now_, out);
  // Its begin failed, so nobody knows its id: it would only take another's room.
  const bool unreachable = !parts_.committed_any(session) && !parts_.asked(session);
  if (unreachable && !draining_) return release(session, SessionEnd::kEnded, out);
  if (idle_.contains(session)) return;
  places_.leave_line(session);
  if (draining_) return release(session, SessionEnd::kDraining, out);
  idle_.add(session, directory_.holder(session), now_);
  places_.become_idle(session, out);
  serve_line(out);
}

void SessionTable::leave_idle(std::uint32_t session) {
  parts_.unpark(session);
  idle_.remove(session);
  places_.leave_idle(session);
}

// Does what must be done for those that want slots. What it does may call it again; then it goes on itself,
// as often as anything is left.
void SessionTable::serve_line(SessionActions& out) {
  if (serving_) return;
  serving_ = true;
  using Kind = StatePlaces::Step::Kind;
  for (auto step = places_.serve(out); step.kind != Kind::kNone; step = places_.serve(out)) {
    if (step.kind == Kind::kRun) run(step.session, out);
    if (step.kind == Kind::kEvict) give_way(step.session, out);
    if (step.kind == Kind::kFull) refuse_first_in_line(out);
  }
  serving_ = false;
}

// Goes to the end of the line.
void SessionTable::yield_place(std::uint32_t session, SessionActions& out) {
  if (places_.read(session) == kInitialState) {
    places_.go_behind(session, out);
    return serve_line(out);
  }
  using Kind = StatePlaces::Step::Kind;
  auto step = places_.spill(session, out);
  while (step.kind == Kind::kEvict) {
    give_way(step.session, out);
    if (step.session == session) return;
    step = places_.spill(session, out);
  }
  if (step.kind == Kind::kFull) spill_failed(session, out);
}

void SessionTable::spilled(SessionRef ref, bool ok, TimePoint now, SessionActions& out) {
  const std::uint32_t session = ref.index;
  if (!directory_.valid(ref) || places_.where(session) != Where::kSpilling) return;
  advance(now);
  places_.spilled(session, ok, out);
  if (directory_.ended(session)) {
    let_go(session, out);
  } else if (!ok) {
    return spill_failed(session, out);
  }
  serve_line(out);
  if (directory_.valid(ref)) settle(session, out);
}

// One in line hoped for these slots: it is refused, so that failing spills do not go on for ever.
void SessionTable::spill_failed(std::uint32_t session, SessionActions& out) {
  if (!places_.aside(session)) refuse_first_in_line(out);
  // A part came meanwhile, or this one gave way to others, in vain.
  if (!idle_.contains(session)) return run(session, out);
  places_.spare(session);
  serve_line(out);
}

void SessionTable::refuse_first_in_line(SessionActions& out) {
  const std::uint32_t unlucky = places_.first_in_line();
  if (unlucky == kNoIndex) return;
  parts_.refuse_next(unlucky, no_room_error(), out);
  settle(unlucky, out);
}

void SessionTable::give_way(std::uint32_t session, SessionActions& out) {
  ++gave_way_;
  release(session, SessionEnd::kEvicted, out);
}

void SessionTable::restored(SessionRef ref, bool ok, TimePoint now, SessionActions& out) {
  const std::uint32_t session = ref.index;
  if (!directory_.valid(ref) || places_.where(session) != Where::kRestoring) return;
  advance(now);
  places_.restored(session, ok);
  if (directory_.ended(session)) {
    let_go(session, out);
    return serve_line(out);
  }
  if (!ok) return release(session, SessionEnd::kLost, out);
  // The part that it returned for runs, whoever is in line: states that only came and went would get nobody
  // on.
  parts_.next(session) == SessionParts::Next::kPart ? run(session, out) : settle(session, out);
}

void SessionTable::not_restored(SessionRef ref, TimePoint now, SessionActions& out) {
  const std::uint32_t session = ref.index;
  if (!directory_.valid(ref) || places_.where(session) != Where::kRestoring) return;
  advance(now);
  places_.not_restored(session, out);
  if (directory_.ended(session)) {
    let_go(session, out);
    return serve_line(out);
  }
  // An end without a part needs no state.
  if (parts_.next(session) == SessionParts::Next::kPart) parts_.refuse_next(session, no_room_error(), out);
  settle(session, out);
}

void SessionTable::allow_resident(std::uint32_t places, TimePoint now, SessionActions& out) {
  advance(now);
  places_.allow(std::min(places, limits_.max_resident));
  serve_line(out);
}

void SessionTable::set_aside(const std::function<bool(StateSlot)>& which, TimePoint now,
                             SessionActions& out) {
  advance(now);
  places_.set_aside(which);
  serve_line(out);
}

void SessionTable::release(SessionRef session, SessionEnd reason, TimePoint now, SessionActions& out) {
  if (!directory_.valid(session)) return;
  advance(now);
  release(session.index, reason, out);
}

void SessionTable::release(std::uint32_t session, SessionEnd reason, SessionActions& out) {
  if (directory_.ended(session)) return;
  directory_.end(session, reason);
  leave_idle(session);
  places_.leave_line(session);
  parts_.end(session, reason, out);
  if (parts_.running(session) || places_.copying(session)) return;
  let_go(session, out);
  serve_line(out);
}

void SessionTable::release_if(const std::function<bool(std::uint32_t)>& which, SessionEnd reason,
                              SessionActions& out) {
  // Chosen first: an end may bring another session to the device.
  for (const SessionRef session : directory_.select(which)) {
    if (directory_.valid(session)) release(session.index, reason, out);
  }
}

void SessionTable::release_model(const ModelIdentity& model, SessionEnd reason, TimePoint now,
                                 SessionActions& out) {
  advance(now);
  release_if([&](std::uint32_t session) { return directory_.model(session) == model; }, reason, out);
}

void SessionTable::release_resident(const std::function<bool(StateSlot)>& which, SessionEnd reason,
                                    TimePoint now, SessionActions& out) {
  advance(now);
  const auto resident = [&](std::uint32_t session) {
    const auto slot = places_.slot(session);
    return slot && which(*slot);
  };
  release_if(resident, reason, out);
}

void SessionTable::release_all(SessionEnd reason, TimePoint now, SessionActions& out) {
  advance(now);
  release_if([](std::uint32_t) { return true; }, reason, out);
}

// The device is done with a session that was released: only a memory stays. Not of one that never answered:
// there is nothing to repeat, and its nonce may begin anew.
void SessionTable::let_go(std::uint32_t session, SessionActions& out) {
  places_.let_go(session, out);
  directory_.remember(session, now_);
  if (!parts_.committed_any(session)) return forget(session);
  while (const auto oldest = directory_.one_too_many()) forget(*oldest);
}

void SessionTable::forget(std::uint32_t session) {
  parts_.forget(session);
  directory_.forget(session);
}

void SessionTable::drain(TimePoint now, SessionActions& out) {
  advance(now);
  draining_ = true;
  while (const auto idle = idle_.first()) release(*idle, SessionEnd::kDraining, out);
}

void SessionTable::tick(TimePoint now, SessionActions& out) {
  advance(now);
  while (const auto stuck = parts_.refuse_stuck(now_ - limits_.park, out)) settle(*stuck, out);
  while (const auto idle = idle_.first_since(now_ - limits_.idle_expiry))
    release(*idle, SessionEnd::kExpired, out);
  while (const auto gone = directory_.remembered_since(now_ - limits_.remember)) forget(*gone);
}

std::optional<TimePoint> SessionTable::next_wakeup() const {
  std::optional<TimePoint> when;
  const auto not_later = [&](std::optional<TimePoint> since, Duration patience) {
    if (since) when = when ? std::min(*when, *since + patience) : *since + patience;
  };
  not_later(idle_.oldest(), limits_.idle_expiry);
  not_later(directory_.oldest(), limits_.remember);
  not_later(parts_.stuck_since(), limits_.park);
  return when;
}

SessionStats SessionTable::stats() const {
  SessionStats stats;
  directory_.count(stats);
  parts_.count(stats);
  places_.count(stats);
  stats.gave_way = gave_way_;
  return stats;
}

}  // namespace volvox
