#include "batching/waiting_rooms.h"

namespace volvox {

void WaitingRooms::push(const Ticket& ticket) {
  if (ticket.request >= places_.size()) places_.resize(ticket.request + 1);
  Room& of = room(ticket.model);
  WaitingPlace& place = places_[ticket.request];
  place.model = ticket.model;
  place.priority = ticket.priority;
  place.cells = ticket.cells;
  place.rows = ticket.rows;
  place.overtaken = 0;
  place.tried = false;
  line_of(place).push(places_, ticket.request, ticket.client);
  ++of.waiting;
  ++size_;
  if (!of.open && is_first(of, ticket.priority)) open(of, ticket.model);
}

void WaitingRooms::remove(std::uint32_t request) {
  const WaitingPlace& place = places_[request];
  line_of(place).remove(places_, request);
  --rooms_[place.model].waiting;
  --size_;
  // Others may have had to wait for it.
  if (place.tried) reopen(place.model);
}

void WaitingRooms::change_class(std::uint32_t request, std::uint64_t client, PriorityClass priority) {
  WaitingPlace& place = places_[request];
  line_of(place).remove(places_, request);
  place.priority = priority;
  place.tried = false;
  line_of(place).push(places_, request, client);
  reopen(place.model);
}

void WaitingRooms::reopen(ModelId model) {
  if (model >= rooms_.size()) return;
  Room& room = rooms_[model];
  if (room.waiting > 0 && !room.open) open(room, model);
}

void WaitingRooms::reopen_all() {
  for (ModelId model = 0; model < rooms_.size(); ++model) reopen(model);
}

std::size_t WaitingRooms::clients() const {
  std::size_t sum = 0;
  for (const Room& room : rooms_) {
    for (const ClientTurns& line : room.lines) sum += line.clients();
  }
  return sum;
}

// Whether the request that came last is before all others.
bool WaitingRooms::is_first(const Room& room, PriorityClass priority) {
  std::size_t before_it = 0;
  for (std::size_t c = 0; c <= static_cast<std::size_t>(priority); ++c) before_it += room.lines[c].size();
  return before_it == 1;
}

}  // namespace volvox
