#include "routing/sessions/session_parts.h"

#include <utility>

#include "routing/sessions/session_errors.h"

namespace volvox {

SessionParts::SessionParts(const SessionLimits& limits)
    : requests_(limits.max_waiting, limits.parked),
      kept_(limits.max_kept_outputs, limits.max_kept_bytes, limits.max_kept_bytes_total) {}

void SessionParts::enter(const SessionName& name, std::uint32_t holder, std::uint64_t kept_share,
                         std::uint64_t client) {
  const std::uint32_t index = name.ref.index;
  sessions_.grow_to(index + 1);
  Session& session = sessions_[index];
  session = {};
  session.name = name;
  session.kept.holder = holder;
  session.kept.share = kept_share;
  requests_.enter(index, client);
}

void SessionParts::forget(std::uint32_t session) {
  kept_.clear(sessions_[session].kept);
}

Result<SessionTicket> SessionParts::take(std::uint32_t index, const SessionRequest& request,
                                         const std::optional<SessionEnd>& ended, SessionActions& out) {
  SessionTicket ticket;
  if (ended || request.sequence < requests_.next(index)) {
    if (auto ok = repeat(index, request, ended, out); !ok) return tl::unexpected(ok.error());
  } else {
    const auto taken = requests_.take(index, request);
    if (!taken) return taken;
    ticket = *taken;
  }
  kept_.acknowledge(sessions_[index].kept, request.sequence);
  return ticket;
}

Status SessionParts::repeat(std::uint32_t index, const SessionRequest& request,
                            const std::optional<SessionEnd>& ended, SessionActions& out) {
  const Session& session = sessions_[index];
  const std::uint64_t next = requests_.next(index);
  const bool ends = request.verb == SessionVerb::kEnd;
  const bool repeats_the_end =
      session.closed && ends && request.sequence + 1 == next && request.empty == session.closed_empty;
  if (ended && !repeats_the_end) return tl::unexpected(ended_error(*ended, next));
  if (!ended && ends) return tl::unexpected(not_the_last_error(request.sequence, next));
  const KeptOutput* kept = kept_.find(session.kept, request.sequence);
  if (kept == nullptr) return tl::unexpected(nothing_kept_error(request.sequence, next));
  if (kept->content != request.content) {
    ++conflicts_;
    return tl::unexpected(other_content_error(request, next));
  }
  SessionAction& answer = session.name.act(SessionAction::Kind::kAnswer, out);
  answer.request = request.request;
  answer.sequence = request.sequence;
  answer.last = ends;
  answer.repeated = true;
  answer.output = kept->output;
  ++repeated_;
  return {};
}

void SessionParts::refuse(std::uint64_t request, const Error& error, SessionActions& out) {
  SessionAction& refusal = out.emplace_back();
  refusal.kind = SessionAction::Kind::kRefuse;
  refusal.request = request;
  refusal.error = error;
  ++refusals_;
}

void SessionParts::refuse(const OpenRequest& request, const Error& error, SessionActions& out) {
  refuse(request.request, error, out);
  out.back().session = sessions_[request.session].name.ref;
}

std::optional<std::uint32_t> SessionParts::cancel(SessionTicket ticket, const Error& why,
                                                  SessionActions& out) {
  const auto request = requests_.withdraw(ticket);
  if (!request) return std::nullopt;
  refuse(*request, why, out);
  if (requests_.ready(request->session) == nullptr) stop(request->session, out);
  return request->session;
}

void SessionParts::stop(std::uint32_t index, SessionActions& out) {
  Session& session = sessions_[index];
  if (!session.running || session.discard) return;
  session.discard = true;
  --awaited_;
  session.name.act(SessionAction::Kind::kStop, out);
}

SessionParts::Next SessionParts::next(std::uint32_t session) const {
  const OpenRequest* first = requests_.ready(session);
  if (first == nullptr) return Next::kNothing;
  return first->empty ? Next::kEmptyEnd : Next::kPart;
}

void SessionParts::run(std::uint32_t index, StateSlot read, StateSlot write, SessionActions& out) {
  Session& session = sessions_[index];
  const OpenRequest& first = *requests_.ready(index);
  session.running = true;
  ++running_;
  ++awaited_;
  SessionAction& run = session.name.act(SessionAction::Kind::kRun, out);
  run.request = first.request;
  run.sequence = first.sequence;
  run.last = first.last;
  run.read = read;
  run.write = write;
}

SessionParts::Outcome SessionParts::finished(std::uint32_t index, PartResult result, SessionActions& out) {
  Session& session = sessions_[index];
  session.running = false;
  --running_;
  if (std::exchange(session.discard, false)) return Outcome::kStopped;
  --awaited_;
  if (result.status) return commit(index, std::move(result), out);
  ++failed_;
  refuse_next(index, result.status.error(), out);
  return Outcome::kFailed;
}

SessionParts::Outcome SessionParts::commit(std::uint32_t index, PartResult result, SessionActions& out) {
  Session& session = sessions_[index];
  const std::uint64_t sequence = requests_.next(index);
  const OpenRequest part = *requests_.ready(index);
  for (bool first = true; requests_.ready(index) != nullptr; first = false) {
    SessionAction& answer = session.name.act(SessionAction::Kind::kAnswer, out);
    answer.request = requests_.pop(index).request;
    answer.sequence = sequence;
    answer.last = part.last;
    answer.repeated = !first;
    answer.output = result.output;
    repeated_ += first ? 0 : 1;
  }
  kept_.keep(session.kept, sequence, part.content, std::move(result.output), result.bytes);
  requests_.advance(index);
  ++committed_;
  session.closed = part.last;
  session.closed_empty = part.empty;
  return part.last ? Outcome::kClosed : Outcome::kCommitted;
}

void SessionParts::refuse_next(std::uint32_t session, const Error& error, SessionActions& out) {
  while (requests_.ready(session) != nullptr) refuse(requests_.pop(session), error, out);
}

void SessionParts::refuse_all(std::uint32_t session, const Error& error, SessionActions& out) {
  stop(session, out);
  while (asked(session)) refuse(requests_.pop(session), error, out);
}

void SessionParts::end(std::uint32_t index, SessionEnd reason, SessionActions& out) {
  Session& session = sessions_[index];
  const std::uint64_t next = requests_.next(index);
  stop(index, out);
  while (asked(index)) refuse(requests_.pop(index), ended_error(reason, next), out);
  // The last part's answer may get lost as any other.
  kept_.acknowledge(session.kept, session.closed ? next - 1 : next);
}

void SessionParts::park(std::uint32_t session, TimePoint now, SessionActions& out) {
  requests_.park(session, now, refused_);
  for (const OpenRequest& request : refused_)
    refuse(request, parked_full_error(requests_.next(session)), out);
  refused_.clear();
}

// A part that is missing for so long does not come by itself: its client must hear of it.
std::optional<std::uint32_t> SessionParts::refuse_stuck(TimePoint since, SessionActions& out) {
  const std::uint32_t session = requests_.first_stuck();
  if (session == kNoIndex || requests_.stuck_since(session) > since) return std::nullopt;
  unpark(session);
  for (; asked(session); ++stuck_)
    refuse(requests_.pop(session), missing_part_error(requests_.next(session)), out);
  return session;
}

std::optional<TimePoint> SessionParts::stuck_since() const {
  const std::uint32_t session = requests_.first_stuck();
  return session == kNoIndex ? std::nullopt : std::optional(requests_.stuck_since(session));
}

void SessionParts::count(SessionStats& stats) const {
  stats.running = running_;
  stats.waiting = requests_.count() - awaited_;
  stats.parked = requests_.parked().parts();
  stats.parked_bytes = requests_.parked().bytes();
  stats.kept_outputs = kept_.count();
  stats.kept_bytes = kept_.bytes();
  stats.most_kept_bytes = kept_.most();
  stats.committed = committed_;
  stats.failed = failed_;
  stats.repeated = repeated_;
  stats.refused = refusals_;
  stats.conflicts = conflicts_ + requests_.conflicts();
  stats.parked_too_long = stuck_;
}

}  // namespace volvox
