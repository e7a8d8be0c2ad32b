#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/stable_vector.h"
#include "base/time.h"
#include "routing/sessions/kept_outputs.h"
#include "routing/sessions/open_requests.h"
#include "routing/sessions/session.h"

namespace volvox {

// The parts of sessions: each is run in its order and committed once, and each request is answered once. Says
// kRun, kStop, kAnswer and kRefuse, and nothing about where states are: whoever calls knows when a part can
// run, and where. O(what one session may hold). Pure; one thread at a time.
class SessionParts {
 public:
  explicit SessionParts(const SessionLimits& limits);

  // A new session, and where its outputs count; `client` tells whose parts wait, as ParkedParts knows it.
  void enter(const SessionName& name, std::uint32_t holder, std::uint64_t kept_share, std::uint64_t client);
  void forget(std::uint32_t session);

  // A request that means this session, which may have `ended`: it waits, and has a ticket; or it is a repeat
  // and answered from what is kept, without one; or it is not taken.
  Result<SessionTicket> take(std::uint32_t session, const SessionRequest& request,
                             const std::optional<SessionEnd>& ended, SessionActions& out);
  void refuse(std::uint64_t request, const Error& error, SessionActions& out);  // one that was not taken
  // Nobody waits for it any more. Its session, unless it was answered before.
  std::optional<std::uint32_t> cancel(SessionTicket ticket, const Error& why, SessionActions& out);

  enum class Next : std::uint8_t { kNothing, kPart, kEmptyEnd };
  Next next(std::uint32_t session) const;  // what the session could do now; of one that runs, what it does
  bool running(std::uint32_t session) const { return sessions_[session].running; }
  bool committed_any(std::uint32_t session) const { return requests_.next(session) > 0; }
  bool asked(std::uint32_t session) const { return !requests_.empty(session); }  // some have no answer

  void run(std::uint32_t session, StateSlot read, StateSlot write, SessionActions& out);
  enum class Outcome : std::uint8_t {
    kStopped,    // nobody wanted it any more: nothing has changed
    kFailed,     // likewise; those that asked for it are refused
    kCommitted,  // the session has another state, and those that asked are answered
    kClosed,     // the same, and it was the last part
  };
  Outcome finished(std::uint32_t session, PartResult result, SessionActions& out);  // of one that runs
  Outcome commit(std::uint32_t session, PartResult result, SessionActions& out);    // an empty end, at once
  void refuse_next(std::uint32_t session, const Error& error, SessionActions& out);
  void refuse_all(std::uint32_t session, const Error& error,
                  SessionActions& out);  // as if all were cancelled
  // The session has ended: stops what runs, and refuses all that wait.
  void end(std::uint32_t session, SessionEnd reason, SessionActions& out);

  // Nothing of the session can run: what waits is parked, or refused. Something can again, or has ended.
  void park(std::uint32_t session, TimePoint now, SessionActions& out);
  void unpark(std::uint32_t session) { requests_.unpark(session); }
  // Refuses what one session has that waits since then or longer for a part that is missing. That session.
  std::optional<std::uint32_t> refuse_stuck(TimePoint since, SessionActions& out);
  std::optional<TimePoint> stuck_since() const;  // the one that waits longest

  void count(SessionStats& stats) const;

 private:
  struct Session {
    SessionName name;
    KeptList kept;
    bool running = false;       // a part is on the device
    bool discard = false;       // … whose requests have all been answered: it must not count
    bool closed = false;        // its last part is committed
    bool closed_empty = false;  // … which there was nothing to run for
  };

  Status repeat(std::uint32_t session, const SessionRequest& request, const std::optional<SessionEnd>& ended,
                SessionActions& out);
  void stop(std::uint32_t session, SessionActions& out);
  void refuse(const OpenRequest& request, const Error& error, SessionActions& out);

  OpenRequests requests_;
  KeptOutputs kept_;
  StableVector<Session> sessions_;    // a KeptList must not move
  std::vector<OpenRequest> refused_;  // by park(), during a call
  std::size_t running_ = 0;
  std::size_t awaited_ = 0;  // of these, those that have a request without an answer
  std::uint64_t committed_ = 0, failed_ = 0, repeated_ = 0, refusals_ = 0, conflicts_ = 0, stuck_ = 0;
};

}  // namespace volvox
