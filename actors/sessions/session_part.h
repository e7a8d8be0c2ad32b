#pragma once

#include <cstdint>
#include <utility>

#include <caf/actor.hpp>

#include "actors/sessions/session_places.h"
#include "routing/sessions/session.h"

namespace volvox {

// A part of a session on its way through the scheduler. Whoever holds it may fail, but its session waits for
// a report: destroyed without one, it says that the part is lost (PartLost). It holds its session's rows
// meanwhile, so that nobody else gets them as long as the device may write them. Owned by its Work.
struct SessionPart {
  SessionPart(SessionRef whose, LentRows lent) : session(whose), rows(std::move(lent)) {}
  ~SessionPart();
  SessionPart(const SessionPart&) = delete;
  SessionPart& operator=(const SessionPart&) = delete;

  const SessionRef session;
  LentRows rows;             // until nothing of it runs
  std::uint64_t driver = 0;  // which SessionDriver waits for it
  caf::actor keeper;         // of the sessions; invalid once it was reported
};

}  // namespace volvox
