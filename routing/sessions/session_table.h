#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "routing/index_pool.h"
#include "routing/sessions/holders.h"
#include "routing/sessions/kept_outputs.h"
#include "routing/sessions/parked_parts.h"
#include "routing/sessions/session.h"
#include "routing/sessions/session_record.h"

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

  // Reports: after kRun, kSpill, kRestore. A part that succeeded is committed unless it was stopped before.
  // `ok`: whether the copy was made. A failed spill leaves the state in its slots; a failed restore loses the
  // session. The copy in host memory is the driver's from a good spill until restored() or kForget.
  void finished(SessionRef session, PartResult result, TimePoint now, SessionActions& out);
  void spilled(SessionRef session, bool ok, TimePoint now, SessionActions& out);
  void restored(SessionRef session, bool ok, TimePoint now, SessionActions& out);

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

  // From now on every request is refused UNAVAILABLE. What runs or can run may end; each session ends when
  // it has nothing of the kind left.
  void drain(TimePoint now, SessionActions& out);

  // Ends what was idle for too long, forgets what has ended. Call it at next_wakeup(), or later.
  void tick(TimePoint now, SessionActions& out);
  std::optional<TimePoint> next_wakeup() const;

  SessionStats stats() const;
  // Live sessions of a model, for whoever wants to unload it. O(all).
  std::size_t live_of(const ModelIdentity& model) const;
  // The live session of this id.
  std::optional<SessionRef> find(const SessionId& id) const;
  SessionRef ref(std::uint32_t index) const { return {index, sessions_.generation(index)}; }

 private:
  using Where = SessionRecord::Where;
  static constexpr std::uint32_t kAnybody = kNoIndex - 1;  // who knows the nonce
  struct ScopedNonce {
    std::uint32_t scope = 0;  // a holder, or kAnybody
    SessionNonce nonce;
    bool operator==(const ScopedNonce&) const = default;
  };
  struct IdHash {
    std::size_t operator()(const SessionId& id) const { return id.lo ^ (id.hi * 0x9e3779b97f4a7c15ULL); }
  };
  struct NonceHash {
    std::uint64_t seed;
    std::size_t operator()(const ScopedNonce& key) const;
  };

  void advance(TimePoint now) { now_ = now > now_ ? now : now_; }
  bool valid(SessionRef session) const { return sessions_.valid(session.index, session.generation); }

  // session_submit.cc: which session a request means, and whether it may come in.
  Result<std::uint32_t> locate(const SessionRequest& request, SessionActions& out);
  Result<std::uint32_t> locate_begin(const SessionRequest& request, SessionActions& out);
  ScopedNonce scoped(const HolderName& client, const SessionNonce& nonce) const;
  SessionShare share_of(const HolderName& client) const;
  Status make_room_for_one(const HolderName& client, SessionActions& out);
  std::uint32_t make_session(const SessionRequest& request);
  Status check_token(std::uint32_t index, const SessionRequest& request, SessionActions& out);
  Status check_room(const SessionRecord& session, const SessionRequest& request) const;
  Status answer_from_kept(std::uint32_t index, const SessionRequest& request, SessionActions& out);
  Result<std::uint32_t> insert(std::uint32_t index, const SessionRequest& request);

  // session_parts.cc: what a session does next, and how its parts end.
  bool ready(const SessionRecord& session) const;  // the part that comes next has come
  void settle(std::uint32_t index, SessionActions& out);
  void run(std::uint32_t index, SessionActions& out);
  void commit(std::uint32_t index, PartResult result, SessionActions& out);
  void refuse_next(std::uint32_t index, const Error& error, SessionActions& out);
  void refuse(std::uint64_t request, std::uint32_t index, const Error& error, SessionActions& out);
  void close(std::uint32_t open);
  SessionAction action(SessionAction::Kind kind, std::uint32_t index) const;

  // session_parked.cc: parts that wait for one that is missing.
  void park(std::uint32_t index, SessionActions& out);
  std::uint64_t client_of(const SessionRecord& session) const;  // as a number for the parked parts
  void unpark(std::uint32_t index);
  void leave_park(std::uint32_t open);
  void refuse_stuck(SessionActions& out);

  // session_places.cc: who is on the device.
  StateSlot slot(const SessionRecord& session, std::uint32_t side) const { return 2 * session.place + side; }
  std::uint32_t take_place();
  bool has_free_place() const { return places_made_ - free_places_.size() < places_allowed_; }
  void give_up_place(std::uint32_t index, Where then, SessionActions& out);
  void stand_in_line(std::uint32_t index);
  void leave_line(std::uint32_t index);
  void serve_line(SessionActions& out);
  void make_spare_room(SessionActions& out);
  enum class HostRoom : std::uint8_t {
    kFits,
    kFull,      // for the one in line that this spill would be for
    kGivesWay,  // this session itself does: its client holds most, and has no other to end
  };
  HostRoom start_spill(std::uint32_t index, SessionActions& out);
  HostRoom make_host_room(std::uint32_t index, SessionActions& out);
  void give_way(std::uint32_t index, SessionActions& out);
  void refuse_first_in_line(SessionActions& out);
  void spill_failed(std::uint32_t index, SessionActions& out);
  void yield_place(std::uint32_t index, SessionActions& out);

  std::uint32_t first_idle(const SessionClient& client) const;

  // session_release.cc: how sessions become idle, end, and are forgotten.
  void become_idle(std::uint32_t index, SessionActions& out);
  void leave_idle(std::uint32_t index);
  void put_with_spare(std::uint32_t index);
  void put_with_put_away(std::uint32_t index);
  void touch(std::uint32_t index);
  void release(std::uint32_t index, SessionEnd reason, SessionActions& out);
  void let_go(std::uint32_t index, SessionActions& out);
  void forget(std::uint32_t index);
  void release_if(const std::function<bool(const SessionRecord&)>& which, SessionEnd reason,
                  SessionActions& out);

  const SessionLimits limits_;
  TimePoint now_{};
  bool draining_ = false;
  IndexPool<SessionRecord> sessions_;
  IndexPool<OpenRequest> open_;
  KeptOutputs kept_;
  std::unordered_map<SessionId, std::uint32_t, IdHash> ids_;
  std::unordered_map<ScopedNonce, std::uint32_t, NonceHash> nonces_;
  Holders names_;
  std::vector<SessionClient> clients_;     // by holder
  Holdings held_sessions_, held_spilled_;  // live and ending ones; bytes in host memory, being copied or not
  IndexList<SessionRecord, &SessionRecord::by_age> idle_;     // least recently active first
  IndexList<SessionRecord, &SessionRecord::by_age> gone_;     // remembered; first ended first
  IndexList<SessionRecord, &SessionRecord::by_use> spare_;    // idle with slots; least recently active first
  IndexList<SessionRecord, &SessionRecord::line> line_;       // ready, and without slots
  IndexList<SessionRecord, &SessionRecord::by_stuck> stuck_;  // the longest first
  ParkedParts parked_;
  std::vector<std::uint32_t> free_places_;
  std::uint32_t places_made_ = 0, places_allowed_ = 0;
  std::size_t spilling_ = 0, restoring_ = 0;
  bool making_room_ = false;  // make_spare_room() is at work
  std::size_t awaited_ = 0;   // parts that run and have a request without an answer
  SessionStats stats_;        // what is counted as it happens; stats() adds the rest
};

}  // namespace volvox
