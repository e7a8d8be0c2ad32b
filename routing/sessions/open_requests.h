#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/index_pool.h"
#include "base/keyed_hash.h"
#include "base/time.h"
#include "routing/sessions/parked_parts.h"
#include "routing/sessions/session.h"

namespace volvox {

// A request that has no answer.
struct OpenRequest {
  std::uint64_t request = 0;
  std::uint64_t sequence = 0;
  std::uint32_t session = kNoIndex;
  PartMemory memory;
  bool last = false, empty = false;
  bool parked = false;  // counted among those that wait for a missing part
  Digest content;
  ListLinks links;
};

// The requests of each session that have no answer, in the order of their parts, and which part comes next.
// Says which may come in, and which may wait for a part that is missing. O(what one session may hold). Pure;
// one thread at a time.
class OpenRequests {
 public:
  OpenRequests(std::uint32_t max_waiting, const ParkedParts::Limits& parked)
      : max_waiting_(max_waiting), parked_(parked) {}

  // A new session: its part 0 comes next. `client`: as ParkedParts knows it.
  void enter(std::uint32_t session, std::uint64_t client);
  std::uint64_t next(std::uint32_t session) const { return sessions_[session].next; }
  void advance(std::uint32_t session) { ++sessions_[session].next; }  // that part is done

  // Takes in a request for this part or a later one: with those that ask for the same, or refuses it.
  Result<SessionTicket> take(std::uint32_t session, const SessionRequest& request);
  bool empty(std::uint32_t session) const { return sessions_[session].open.empty(); }
  // The first one for the part that comes next; null: it has not come.
  const OpenRequest* ready(std::uint32_t session) const;
  // Not open any more: the first one, of one that has any; the ticket's, if it still was.
  OpenRequest pop(std::uint32_t session);
  std::optional<OpenRequest> withdraw(SessionTicket ticket);

  // Nothing of the session can run: what it has waits for a part that is missing, for as long as that is so.
  // What finds no room among others that wait so is not open any more, and added to `refused`.
  void park(std::uint32_t session, TimePoint now, std::vector<OpenRequest>& refused);
  void unpark(std::uint32_t session);                           // it can again, or nothing waits
  std::uint32_t first_stuck() const { return stuck_.front(); }  // kNoIndex: none has something that waits so
  TimePoint stuck_since(std::uint32_t session) const { return sessions_[session].stuck_since; }

  std::size_t count() const { return open_.used(); }
  std::uint64_t conflicts() const { return conflicts_; }  // refused: the part was taken with another content
  const ParkedParts& parked() const { return parked_; }

 private:
  struct Session {
    std::uint64_t next = 0;  // the part that comes next
    std::uint64_t client = ParkedParts::kNobody;
    IndexList<OpenRequest, &OpenRequest::links> open;  // by sequence
    bool stuck = false;                                // it has parts, and the one before them is missing,
    TimePoint stuck_since{};                           // for so long
    ListLinks by_stuck;
  };

  Status check_room(const Session& session, std::uint64_t sequence) const;
  Result<std::uint32_t> place_of(const Session& session, const SessionRequest& request);
  void leave_park(std::uint32_t open);
  void close(std::uint32_t open);

  const std::uint32_t max_waiting_;
  std::vector<Session> sessions_;
  IndexPool<OpenRequest> open_;
  ParkedParts parked_;
  IndexList<Session, &Session::by_stuck> stuck_;  // the longest first
  std::uint64_t conflicts_ = 0;
};

}  // namespace volvox
