#include "actors/sessions/session_places.h"

namespace volvox {

SessionPlaces::SessionPlaces(std::uint32_t count) : count_(count) {
  for (std::uint32_t place = 0; place < count; ++place) free_.insert(free_.end(), place);
}

PlacePtr SessionPlaces::take(std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  auto next = free_.lower_bound(limit);
  if (next == free_.begin()) return nullptr;
  --next;
  auto place = std::make_unique<std::uint32_t>(*next);
  free_.erase(next);
  return {place.release(), [self = shared_from_this()](const std::uint32_t* lent) {
            self->give_back(*lent);
            delete lent;
          }};
}

void SessionPlaces::give_back(std::uint32_t place) {
  const std::lock_guard lock(mutex_);
  free_.insert(place);
}

}  // namespace volvox
