#pragma once

#include "routing/sessions/kept_outputs.h"
#include "routing/sessions/session.h"

namespace volvox {

// What SessionTable keeps of one session and of one request. Internal to it.

// A request that has no answer.
struct OpenRequest {
  std::uint64_t request = 0;
  std::uint64_t sequence = 0;
  std::uint32_t session = kNoIndex;
  std::uint64_t bytes = 0;
  bool last = false, empty = false;
  bool parked = false;  // counted among those that wait for a missing part
  Digest content;
  ListLinks links;
};

struct SessionRecord {
  // Where the committed state is.
  enum class Where : std::uint8_t {
    kNowhere,    // there is none: no part was committed
    kResident,   // in slots, or there is none yet and the slots wait for it
    kSpilling,   // in slots, being copied to host memory
    kSpilled,    // in host memory
    kRestoring,  // in host memory, being copied to slots
  };

  SessionId id;
  std::uint32_t holder = 0;  // who began it
  std::uint64_t state_bytes = 0;
  SessionNonce nonce;
  std::uint64_t epoch = 0;
  ModelIdentity model;
  std::uint64_t next = 0;  // the part that comes next: as many are committed
  TimePoint since{};       // idle: its last activity; remembered: since when
  Where where = Where::kNowhere;
  std::uint32_t place = kNoIndex;  // slots 2·place and 2·place + 1
  std::uint32_t side = 1;          // which of them holds the committed state
  bool has_state = false;          // false: parts start from the initial state
  bool running = false;            // a part is on the device
  bool discard = false;            // … whose requests have all been answered: it must not count
  bool idle = false;               // in the list of idle ones
  bool spare = false;              // in the list of those that can give up their slots
  bool put_away = false;           // in its client's list of idle ones in host memory
  bool in_line = false;            // in the line of those that want slots
  bool closed = false;             // its last part is committed
  bool closed_empty = false;       // … which there was nothing to run for
  bool released = false;           // ended, for `reason`
  bool stuck = false;              // it has parts, and the one before them is missing,
  TimePoint stuck_since{};         // for so long
  SessionEnd reason{};
  IndexList<OpenRequest, &OpenRequest::links> open;  // by sequence
  KeptList kept;
  ListLinks by_age, by_client, by_use, line, by_stuck;
};

// What one client has.
struct SessionClient {
  SessionShare share;
  IndexList<SessionRecord, &SessionRecord::by_client> idle;   // least recently active first
  IndexList<SessionRecord, &SessionRecord::by_use> put_away;  // idle, in host memory; likewise
};

}  // namespace volvox
