#include "actors/edge/large_answer.h"

#include <utility>

#include "actors/node/dispatcher.h"
#include "actors/system/handoff.h"
#include "actors/system/insist.h"

namespace volvox {

void answer_or_leave(caf::event_based_actor& self, ReplyTicket& ticket, const Outcome& outcome) {
  const auto& slot = ticket.request().writer;
  const bool large = slot && outcome.bytes_to_encode() > Dispatcher::kSmallBody;
  const caf::actor writer = large ? slot->get() : caf::actor();
  if (!writer) return ticket.answer(outcome);
  Outcome kept = insist([&] { return outcome; });
  // Nothing is moved before there is memory for it.
  auto left = insist([&] { return std::make_shared<LargeAnswer>(std::move(ticket), std::move(kept)); });
  hand_over();
  insist([&] { self.send(writer, WriteAnswer{left}); });
}

}  // namespace volvox
