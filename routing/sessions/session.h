#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/keyed_hash.h"
#include "base/time.h"
#include "routing/sessions/holders.h"
#include "routing/sessions/parked_parts.h"

namespace volvox {

// The words that SessionTable and whoever drives it share. docs/sessions.md explains them.

// Names a session to its client: 128 random bits, drawn by the driver. Zero names none.
struct SessionId {
  std::uint64_t hi = 0, lo = 0;
  bool operator==(const SessionId&) const = default;
};

// Names a session to the driver, and a request that is not answered to the table. They carry generations: one
// that is kept for too long is ignored, never mistaken for another.
struct SessionRef {
  std::uint32_t index = ~std::uint32_t{0};
  std::uint32_t generation = 0;
  bool operator==(const SessionRef&) const = default;
};
struct SessionTicket {
  std::uint32_t index = ~std::uint32_t{0};
  std::uint32_t generation = 0;
  bool operator==(const SessionTicket&) const = default;
};

// Chosen by the client of a begin, so that its repeat finds the same session. Where clients have no keys, one
// with random bits in `hi` finds it over any connection, for nobody can guess it; another only over its own.
struct SessionNonce {
  std::uint64_t lo = 0, hi = 0;
  auto operator<=>(const SessionNonce&) const = default;
};

// A state's place on the device, from 0 to 2·max_resident − 1. The driver knows which rows of which planes it
// stands for.
using StateSlot = std::uint32_t;
inline constexpr StateSlot kInitialState = ~StateSlot{0};  // read only: what a stream starts from

// What computed a state. Only the same may go on with it.
struct ModelIdentity {
  std::uint32_t model = 0;    // the driver's number for the model's name
  std::uint32_t version = 0;  // never 0
  std::uint64_t digest = 0;   // of the weights
  std::uint64_t numerics = 0;
  bool operator==(const ModelIdentity&) const = default;
};

enum class SessionVerb : std::uint8_t { kBegin, kContinue, kEnd };

// One request of a session, as its header says.
struct SessionRequest {
  std::uint64_t request = 0;  // the driver's number for it, given back in the answer
  SessionVerb verb = SessionVerb::kContinue;
  SessionId id;  // begin: the number that a new session shall have; otherwise the token's
  std::uint64_t sequence = 0;
  // Whose it is: sessions are continued only by the account that began them. Without accounts by whoever
  // knows the id, over any connection. Viewed during the call.
  HolderName client;
  // begin: finds the session that the same client began with it. Zero: always a new one.
  SessionNonce nonce;
  std::uint64_t state_bytes = 0;  // begin: that a state takes in host memory
  // Otherwise: the token's.
  std::uint64_t epoch = 0;
  ModelIdentity model;
  // What this process has loaded under the model's name and, unless it is a begin, the token's version.
  ModelIdentity served;
  bool loaded = true;  // false: nothing; `served` means nothing then
  bool empty = false;  // end only: there is nothing to run
  PartMemory memory;   // that it holds while it waits
  // Of what is to be run and answered. A repeat is answered only where it is the same.
  Digest content;
};

// How a part ended on the device.
struct PartResult {
  Status status;
  std::shared_ptr<const void> output;  // given back in answers; may be null
  std::uint64_t bytes = 0;             // that it takes while it is kept
};

// Why a session ended.
enum class SessionEnd : std::uint8_t {
  kEnded,     // its client said so
  kExpired,   // nothing came for too long
  kLost,      // its state is gone, or what computed it
  kEvicted,   // it made room for others
  kDraining,  // the server stops
};
inline constexpr std::size_t kSessionEnds = 5;
std::string_view to_string(SessionEnd reason);  // "ended", …; for metrics

// What the driver must do, in this order. Fields that are not named at a kind mean nothing there.
struct SessionAction {
  enum class Kind : std::uint8_t {
    kRun,      // run the part: request, sequence, last, read, write. Report finished()
    kStop,     // the part that runs is not wanted any more; report finished() all the same
    kAnswer,   // request, sequence, last, repeated, output: the request's only answer
    kRefuse,   // request, error: the request's only answer
    kSpill,    // copy the state in `read` to host memory. Report spilled()
    kRestore,  // copy it back, into `write`. Report restored()
    kFree,     // nothing of the session lies in `read` and `write` any more
    kForget,   // drop the copy in host memory
  };
  Kind kind{};
  bool last = false;      // the session ends with this part
  bool repeated = false;  // from what was kept; nothing ran for this request
  StateSlot read = kInitialState, write = kInitialState;
  SessionRef session;  // kRefuse: not valid when the request was not taken in
  std::uint64_t request = 0;
  std::uint64_t sequence = 0;
  SessionId id;             // kAnswer: for the token
  std::uint64_t epoch = 0;  // likewise
  std::shared_ptr<const void> output;
  Error error;
};
using SessionActions = std::vector<SessionAction>;

// How actions name a session.
struct SessionName {
  SessionRef ref;
  SessionId id;
  std::uint64_t epoch = 0;

  // One more for it, at the end.
  SessionAction& act(SessionAction::Kind kind, SessionActions& out) const;
};

// What one client may hold of what all share.
struct SessionShare {
  std::uint32_t sessions = ~std::uint32_t{0};       // live and ending ones
  std::uint64_t kept_bytes = ~std::uint64_t{0};     // of outputs
  std::uint64_t spilled_bytes = ~std::uint64_t{0};  // of states in host memory
};

// Bounds. check() says whether they make sense.
struct SessionLimits {
  std::uint32_t max_sessions = 10'000;  // live ones, and ended ones that the device still works on
  std::uint32_t max_resident = 1024;    // whose state is on the device; at least 1
  std::uint32_t max_waiting = 8;  // of one session: requests besides the one that runs, and how far ahead
  std::uint32_t max_kept_outputs = 16;                      // of one session, not acknowledged
  std::uint64_t max_kept_bytes = 4ULL << 20;                // likewise
  std::uint64_t max_kept_bytes_total = 256ULL << 20;        // of all sessions
  std::uint64_t max_spilled_bytes = ~std::uint64_t{0};      // of all states in host memory
  SessionShare share;                                       // of each client that is known
  std::map<std::string, SessionShare, std::less<>> shares;  // of accounts that have another one
  std::uint32_t max_remembered = 10'000;                    // ended ones, so that a late request is told why
  Duration remember{std::chrono::seconds(30)};              // for so long
  Duration idle_expiry{std::chrono::seconds(300)};          // nothing came and nothing ran
  ParkedParts::Limits parked{};                             // parts that wait for one that is missing,
  Duration park{std::chrono::seconds(10)};                  // for so long
  Duration evict_idle{0};       // a full table gives up a session that was idle for so long; 0: never
  std::uint64_t epoch = 1;      // of the sessions that begin here
  std::uint64_t hash_seed = 0;  // random: nobody shall choose nonces that collide

  SessionShare share_of(const HolderName& client) const;
};
Status check(const SessionLimits& limits);

// What the table holds now, and what it has counted.
struct SessionStats {
  std::size_t live = 0;        // sessions that have not ended
  std::size_t ending = 0;      // ended; the device has yet to let go of them
  std::size_t remembered = 0;  // ended, and nothing but a memory (and the last output)
  std::size_t resident = 0;    // whose state has slots on the device, being copied or not
  std::size_t spilled = 0;     // whose state is in host memory only
  std::size_t copying = 0;     // between the two now
  std::size_t in_line = 0;     // that wait for slots
  std::size_t running = 0;     // parts on the device, those that are being stopped included
  std::size_t waiting = 0;     // requests without an answer, except one for each part that runs
  std::size_t parked = 0;      // of these, those that wait for a part that is missing
  std::uint64_t parked_bytes = 0;
  std::size_t kept_outputs = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t spilled_bytes = 0;  // of states in host memory, being copied or not
  std::size_t clients = 0;          // who have sessions
  // Of whoever has most: sessions; bytes of kept outputs; of states in host memory.
  std::uint64_t most_sessions = 0, most_kept_bytes = 0, most_spilled_bytes = 0;
  std::uint64_t begun = 0, committed = 0, failed = 0, repeated = 0, refused = 0;
  std::uint64_t parked_too_long = 0;  // of the refused ones: the missing part did not come in time
  std::uint64_t conflicts = 0;        // refused, because the part was taken with another content
  std::uint64_t over_share = 0;       // begins refused, because their client has as many as it may
  std::uint64_t gave_way = 0;         // sessions that ended for clients that hold less
  std::uint64_t spills = 0, failed_spills = 0, restores = 0;
  std::array<std::uint64_t, kSessionEnds> releases{};  // by SessionEnd

  bool operator==(const SessionStats&) const = default;
};

}  // namespace volvox
