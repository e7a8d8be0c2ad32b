#include "actors/sessions/session_part.h"

#include <caf/send.hpp>

#include "actors/system/handoff.h"
#include "actors/system/insist.h"
#include "actors/work/messages.h"

namespace volvox {

SessionPart::~SessionPart() {
  rows = {};
  if (!keeper) return;
  hand_over();
  insist([&] { caf::anon_send(keeper, PartLost{session}); });
}

}  // namespace volvox
