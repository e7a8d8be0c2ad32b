#include "actors/edge/large_answer.h"

#include "actors/node/dispatcher.h"
#include "actors/system/handoff.h"

namespace volvox {

void answer_or_leave(caf::event_based_actor& self, ReplyTicket& ticket, const Outcome& outcome) {
  const auto& slot = ticket.request().writer;
  const bool large = slot && outcome.bytes_to_encode() > Dispatcher::kSmallBody;
  const caf::actor writer = large ? slot->get() : caf::actor();
  if (!writer) return ticket.answer(outcome);
  auto left = std::make_shared<LargeAnswer>(std::move(ticket), outcome);
  hand_over();
  self.send(writer, WriteAnswer{std::move(left)});
}

}  // namespace volvox
