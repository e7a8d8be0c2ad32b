#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/time.h"
#include "routing/sessions/idle_sessions.h"
#include "routing/sessions/session.h"
#include "routing/sessions/session_directory.h"
#include "routing/sessions/session_parts.h"
#include "routing/sessions/state_places.h"

namespace volvox {

// A session is a stream whose state outlives one request. Its parts must run one after the other, each
// exactly once, whatever is repeated, reordered, cancelled or lost; states must not pile up on the device;
// and whoever asks must be answered, exactly once. This table decides all of that for one process and does
// none of it: it takes events, and says in actions what its driver must do.
//
// Everything is O(1) per event (plus what the bounds of SessionLimits allow one session to hold), and nothing
// is allocated per continue once the table has seen its peak. `now` never goes back; an earlier one counts as
// the latest. Pure: no clock, no chance (ids and the seed are arguments), no message. One thread at a time.
//
// The driver does the actions in their order, and reports each kRun, kSpill and kRestore exactly once, also
// when the session has ended meanwhile: only then are its slots free. A report for what is not under way is
// ignored. docs/sessions.md is the whole contract.
//
// It owns the parts, and says in which order they act: SessionDirectory (which session a request means, and
// whose it is), SessionParts (what runs, waits and is answered), StatePlaces (where states are) and
// IdleSessions (who was not heard of for longest).
class SessionTable {
 public:
  // `limits` must have passed check().
  explicit SessionTable(const SessionLimits& limits);

  // A request has come. It is answered by exactly one kAnswer or kRefuse, in `out` of this call or of a later
  // one. The ticket is good for cancel() until then.
  SessionTicket submit(const SessionRequest& request, TimePoint now, SessionActions& out);
  // Nobody waits for this request any more, or it took too long: answers it with `why`. A part that no other
  // request repeats is not run, or stopped; the session stays where it was. Ignored once it is answered.
  void cancel(SessionTicket ticket, const Error& why, TimePoint now, SessionActions& out);
  // The same of all requests of a session, which goes on.
  void refuse_all(SessionRef session, const Error& why, TimePoint now, SessionActions& out);

  // Reports: after kRun, kSpill, kRestore. A part that succeeded is committed unless it was stopped before.
  // `ok`: whether the copy was made. A failed spill leaves the state in its slots; a failed restore loses the
  // session. The copy in host memory is the driver's from a good spill until restored() or kForget.
  // not_restored(): in place of restored(), when the device had no room for the state. The copy in host
  // memory is as good as before, and the part that it was to return for is refused OVERLOADED.
  void finished(SessionRef session, PartResult result, TimePoint now, SessionActions& out);
  void spilled(SessionRef session, bool ok, TimePoint now, SessionActions& out);
  void restored(SessionRef session, bool ok, TimePoint now, SessionActions& out);
  void not_restored(SessionRef session, TimePoint now, SessionActions& out);

  // Ends a session: all that wait are refused, by the reason, and everything is given back. All ends go
  // through here.
  void release(SessionRef session, SessionEnd reason, TimePoint now, SessionActions& out);
  // The same for those of one model; for those whose state is in one of these slots of the device (`which` is
  // asked of one of a place), or on its way there; for all. O(all).
  void release_model(const ModelIdentity& model, SessionEnd reason, TimePoint now, SessionActions& out);
  void release_resident(const std::function<bool(StateSlot)>& which, SessionEnd reason, TimePoint now,
                        SessionActions& out);
  void release_all(SessionEnd reason, TimePoint now, SessionActions& out);

  // How many sessions may have slots from now on, at most limits.max_resident: for a part of the device that
  // is gone, or back. Those that have slots keep them.
  void allow_resident(std::uint32_t places, TimePoint now, SessionActions& out);
  // Those with slots on a part of the device that takes no work for now (`which` is asked of one of a place)
  // keep them, do not count among the allowed, and give them up for nobody. Holds until it is called again,
  // for the places in use by then. O(all).
  void set_aside(const std::function<bool(StateSlot)>& which, TimePoint now, SessionActions& out);

  // From now on every request is refused UNAVAILABLE. What runs or can run may end; each session ends when
  // it has nothing of the kind left.
  void drain(TimePoint now, SessionActions& out);

  // Ends what was idle for too long, forgets what has ended. Call it at next_wakeup(), or later.
  void tick(TimePoint now, SessionActions& out);
  std::optional<TimePoint> next_wakeup() const;

  SessionStats stats() const;
  // Where the committed state of a session is that has slots; kInitialState: it has none. While no part of it
  // runs nothing lies in the other one.
  std::optional<StateSlot> state(SessionRef session) const {
    if (!directory_.valid(session) || !places_.slot(session.index)) return std::nullopt;
    return places_.read(session.index);
  }
  // The live session of this id.
  std::optional<SessionRef> find(const SessionId& id) const { return directory_.find_live(id); }

 private:
  void advance(TimePoint now) { now_ = now > now_ ? now : now_; }

  // Requests that come in.
  Result<SessionTicket> take(const SessionRequest& request, SessionActions& out);
  Result<std::uint32_t> begin(const SessionRequest& request, SessionActions& out);
  Status make_room_for_one(const HolderName& client, SessionActions& out);

  // What a session does next.
  void settle(std::uint32_t session, SessionActions& out);
  void run(std::uint32_t session, SessionActions& out);
  void become_idle(std::uint32_t session, SessionActions& out);
  void leave_idle(std::uint32_t session);

  // Who is on the device.
  void serve_line(SessionActions& out);
  void yield_place(std::uint32_t session, SessionActions& out);
  void spill_failed(std::uint32_t session, SessionActions& out);
  void refuse_first_in_line(SessionActions& out);
  void give_way(std::uint32_t session, SessionActions& out);

  // How sessions end, and are forgotten.
  void release(std::uint32_t session, SessionEnd reason, SessionActions& out);
  void release_if(const std::function<bool(std::uint32_t)>& which, SessionEnd reason, SessionActions& out);
  void let_go(std::uint32_t session, SessionActions& out);
  void forget(std::uint32_t session);

  const SessionLimits limits_;
  TimePoint now_{};
  bool draining_ = false;
  SessionDirectory directory_;
  SessionParts parts_;
  StatePlaces places_;
  IdleSessions idle_;
  bool serving_ = false;  // serve_line() is at work
  std::uint64_t gave_way_ = 0;
};

}  // namespace volvox
