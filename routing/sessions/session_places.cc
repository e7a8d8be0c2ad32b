#include <algorithm>

#include "routing/sessions/session_errors.h"
#include "routing/sessions/session_table.h"

namespace volvox {

std::uint32_t SessionTable::take_place() {
  if (free_places_.empty()) return places_made_++;
  const std::uint32_t place = free_places_.back();
  free_places_.pop_back();
  return place;
}

void SessionTable::allow_resident(std::uint32_t places, TimePoint now, SessionActions& out) {
  advance(now);
  places_allowed_ = std::min(places, limits_.max_resident);
  serve_line(out);
}

void SessionTable::give_up_place(std::uint32_t index, Where then, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  SessionAction& free = out.emplace_back(action(SessionAction::Kind::kFree, index));
  free.read = slot(session, 0);
  free.write = slot(session, 1);
  free_places_.push_back(session.place);
  session.place = kNoIndex;
  session.where = then;
}

void SessionTable::stand_in_line(std::uint32_t index) {
  if (sessions_[index].in_line) return;
  sessions_[index].in_line = true;
  line_.push_back(sessions_, index);
}

void SessionTable::leave_line(std::uint32_t index) {
  if (!sessions_[index].in_line) return;
  sessions_[index].in_line = false;
  line_.erase(sessions_, index);
}

// Gives free slots to those in line, the first one first.
void SessionTable::serve_line(SessionActions& out) {
  while (!line_.empty() && has_free_place()) {
    const std::uint32_t index = line_.front();
    leave_line(index);
    SessionRecord& session = sessions_[index];
    session.place = take_place();
    if (!session.has_state) {
      session.where = Where::kResident;
      session.side = 1;
      run(index, out);
      continue;
    }
    session.where = Where::kRestoring;
    session.side = 0;
    --stats_.spilled;
    ++restoring_;
    SessionAction& restore = out.emplace_back(action(SessionAction::Kind::kRestore, index));
    restore.write = slot(session, 0);
  }
  make_spare_room(out);
}

// As many spills as there are sessions in line, as long as idle ones have slots.
void SessionTable::make_spare_room(SessionActions& out) {
  if (making_room_) return;
  making_room_ = true;
  while (line_.size() > spilling_ && !spare_.empty()) {
    const std::uint32_t index = spare_.front();
    const HostRoom room = start_spill(index, out);
    if (room == HostRoom::kFits) continue;
    if (room == HostRoom::kGivesWay) {
      give_way(index, out);
      continue;
    }
    put_with_spare(index);
    refuse_first_in_line(out);
  }
  making_room_ = false;
}

// Unless it fits, the session stays where it is, in no list of those with slots.
SessionTable::HostRoom SessionTable::start_spill(std::uint32_t index, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  if (session.spare) spare_.erase(sessions_, index);
  session.spare = false;
  session.where = Where::kSpilling;
  ++spilling_;
  const HostRoom room = make_host_room(index, out);
  if (room != HostRoom::kFits) {
    session.where = Where::kResident;
    --spilling_;
    stats_.failed_spills += room == HostRoom::kFull ? 1 : 0;
    return room;
  }
  held_spilled_.add(session.holder, session.state_bytes);
  SessionAction& spill = out.emplace_back(action(SessionAction::Kind::kSpill, index));
  spill.read = slot(session, session.side);
  return room;
}

// Host memory, too, is for all: whoever holds most of it, or more than its share, gives up states that were
// not used for long, for the one in line whose part is to run; but nobody for one that holds as much, or for
// itself.
SessionTable::HostRoom SessionTable::make_host_room(std::uint32_t index, SessionActions& out) {
  const SessionRecord& session = sessions_[index];
  for (;;) {
    const std::uint64_t own = held_spilled_.of(session.holder) + session.state_bytes;
    const bool over = own > clients_[session.holder].share.spilled_bytes;
    if (!over && held_spilled_.total() + session.state_bytes <= limits_.max_spilled_bytes)
      return HostRoom::kFits;
    const bool is_biggest = over || own >= held_spilled_.most();
    const std::uint32_t victim = is_biggest ? session.holder : held_spilled_.biggest();
    const std::uint32_t wanted = line_.empty() ? victim : sessions_[line_.front()].holder;
    if (victim == wanted) return HostRoom::kFull;
    if (!over && held_spilled_.of(victim) <= held_spilled_.of(wanted)) return HostRoom::kFull;
    const std::uint32_t state = clients_[victim].put_away.front();
    if (state == kNoIndex) return is_biggest ? HostRoom::kGivesWay : HostRoom::kFull;
    give_way(state, out);
  }
}

// Goes to the end of the line.
void SessionTable::yield_place(std::uint32_t index, SessionActions& out) {
  if (sessions_[index].has_state) {
    const HostRoom room = start_spill(index, out);
    if (room == HostRoom::kGivesWay) return give_way(index, out);
    if (room == HostRoom::kFull) spill_failed(index, out);
    return;
  }
  stand_in_line(index);
  give_up_place(index, Where::kNowhere, out);
  serve_line(out);
}

void SessionTable::spilled(SessionRef ref, bool ok, TimePoint now, SessionActions& out) {
  if (!valid(ref) || sessions_[ref.index].where != Where::kSpilling) return;
  advance(now);
  SessionRecord& session = sessions_[ref.index];
  --spilling_;
  ++(ok ? stats_.spills : stats_.failed_spills);
  if (ok) {
    give_up_place(ref.index, Where::kSpilled, out);
    ++stats_.spilled;
    if (session.idle) put_with_put_away(ref.index);
  } else {
    session.where = Where::kResident;
    held_spilled_.remove(session.holder, session.state_bytes);
  }
  if (session.released) {
    --stats_.ending;
    let_go(ref.index, out);
  } else if (!ok) {
    return spill_failed(ref.index, out);
  }
  serve_line(out);
  if (sessions_.valid(ref.index, ref.generation)) settle(ref.index, out);
}

// One in line hoped for these slots: it is refused, so that failing spills do not go on for ever.
void SessionTable::spill_failed(std::uint32_t index, SessionActions& out) {
  refuse_first_in_line(out);
  if (sessions_[index].idle) {  // the last one to be tried again
    put_with_spare(index);
    make_spare_room(out);
  } else {  // a part came meanwhile, or this one gave way to others, in vain
    run(index, out);
  }
}

void SessionTable::refuse_first_in_line(SessionActions& out) {
  if (line_.empty()) return;
  const std::uint32_t unlucky = line_.front();
  refuse_next(unlucky, no_room_error(), out);
  settle(unlucky, out);
}

void SessionTable::restored(SessionRef ref, bool ok, TimePoint now, SessionActions& out) {
  if (!valid(ref) || sessions_[ref.index].where != Where::kRestoring) return;
  advance(now);
  SessionRecord& session = sessions_[ref.index];
  session.where = Where::kResident;
  --restoring_;
  held_spilled_.remove(session.holder, session.state_bytes);
  stats_.restores += ok ? 1 : 0;
  if (session.released) {
    --stats_.ending;
    let_go(ref.index, out);
    return serve_line(out);
  }
  if (!ok) return release(ref.index, SessionEnd::kLost, out);
  // The part that it returned for runs, whoever is in line: states that only came and went would get nobody
  // on.
  const bool runs = ready(session) && !open_[session.open.front()].empty;
  runs ? run(ref.index, out) : settle(ref.index, out);
}

}  // namespace volvox
