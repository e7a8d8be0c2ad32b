#include "batching/waiting_rooms.h"

namespace volvox {

void WaitingRooms::remove(std::uint32_t request) {
  unlink(request);
  // Others may have had to wait for it.
  if (places_[request].tried) reopen(places_[request].model);
}

void WaitingRooms::change_class(std::uint32_t request, PriorityClass priority) {
  unlink(request);
  Place& place = places_[request];
  place.priority = priority;
  link(rooms_[place.model], place, request);
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

}  // namespace volvox
