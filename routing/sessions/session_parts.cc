#include <utility>

#include "routing/sessions/session_errors.h"
#include "routing/sessions/session_table.h"

namespace volvox {

bool SessionTable::ready(const SessionRecord& session) const {
  return !session.open.empty() && open_[session.open.front()].sequence == session.next;
}

// Called whenever something about a session has changed: finds out what it does now.
void SessionTable::settle(std::uint32_t index, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  if (session.released || session.running || session.where == Where::kRestoring) return;
  if (!ready(session)) return become_idle(index, out);
  leave_idle(index);
  if (open_[session.open.front()].empty) return commit(index, {}, out);
  // Its slots are promised to another already: it goes on when they are free.
  if (session.where == Where::kSpilling) return;
  if (session.where == Where::kResident) {
    // Nobody idle could make room for those in line: who has had a part makes room.
    const bool others_first = line_.size() > spilling_ && spare_.empty();
    return others_first ? yield_place(index, out) : run(index, out);
  }
  stand_in_line(index);
  serve_line(out);
}

void SessionTable::run(std::uint32_t index, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  const OpenRequest& first = open_[session.open.front()];
  session.running = true;
  ++awaited_;
  ++stats_.running;
  SessionAction& run = out.emplace_back(action(SessionAction::Kind::kRun, index));
  run.request = first.request;
  run.sequence = session.next;
  run.last = first.last;
  run.read = session.has_state ? slot(session, session.side) : kInitialState;
  run.write = slot(session, session.side ^ 1);
}

void SessionTable::finished(SessionRef ref, PartResult result, TimePoint now, SessionActions& out) {
  if (!valid(ref) || !sessions_[ref.index].running) return;
  advance(now);
  SessionRecord& session = sessions_[ref.index];
  session.running = false;
  --stats_.running;
  if (std::exchange(session.discard, false)) {
    if (!session.released) return settle(ref.index, out);
    --stats_.ending;
    let_go(ref.index, out);
    return serve_line(out);
  }
  --awaited_;
  if (!result.status) {
    ++stats_.failed;
    refuse_next(ref.index, result.status.error(), out);
    return settle(ref.index, out);
  }
  session.side ^= 1;
  session.has_state = true;
  commit(ref.index, std::move(result), out);
}

// The part that comes next is done: answers all that asked for it.
void SessionTable::commit(std::uint32_t index, PartResult result, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  const bool last = open_[session.open.front()].last;
  const Digest content = open_[session.open.front()].content;
  session.closed_empty = open_[session.open.front()].empty;
  for (bool first = true; ready(session); first = false) {
    const std::uint32_t open = session.open.front();
    SessionAction& answer = out.emplace_back(action(SessionAction::Kind::kAnswer, index));
    answer.request = open_[open].request;
    answer.sequence = session.next;
    answer.last = last;
    answer.repeated = !first;
    answer.output = result.output;
    stats_.repeated += first ? 0 : 1;
    close(open);
  }
  kept_.keep(session.kept, session.next, content, std::move(result.output), result.bytes);
  ++session.next;
  ++stats_.committed;
  if (!last) return settle(index, out);
  session.closed = true;
  release(index, SessionEnd::kEnded, out);
}

void SessionTable::cancel(SessionTicket ticket, const Error& why, TimePoint now, SessionActions& out) {
  if (!open_.valid(ticket.index, ticket.generation)) return;
  advance(now);
  const std::uint32_t index = open_[ticket.index].session;
  SessionRecord& session = sessions_[index];
  refuse(open_[ticket.index].request, index, why, out);
  close(ticket.index);
  if (session.running && !session.discard && !ready(session)) {
    session.discard = true;
    --awaited_;
    out.push_back(action(SessionAction::Kind::kStop, index));
  }
  settle(index, out);
}

void SessionTable::refuse_next(std::uint32_t index, const Error& error, SessionActions& out) {
  SessionRecord& session = sessions_[index];
  while (ready(session)) {
    const std::uint32_t open = session.open.front();
    refuse(open_[open].request, index, error, out);
    close(open);
  }
}

void SessionTable::refuse(std::uint64_t request, std::uint32_t index, const Error& error,
                          SessionActions& out) {
  SessionAction& refusal = out.emplace_back();
  refusal.kind = SessionAction::Kind::kRefuse;
  if (index != kNoIndex) refusal.session = ref(index);
  refusal.request = request;
  refusal.error = error;
  ++stats_.refused;
}

void SessionTable::close(std::uint32_t open) {
  leave_park(open);
  sessions_[open_[open].session].open.erase(open_, open);
  open_.give_back(open);
}

SessionAction SessionTable::action(SessionAction::Kind kind, std::uint32_t index) const {
  SessionAction action;
  action.kind = kind;
  action.session = ref(index);
  action.id = sessions_[index].id;
  action.epoch = sessions_[index].epoch;
  return action;
}

}  // namespace volvox
