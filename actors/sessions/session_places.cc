#include "actors/sessions/session_places.h"

namespace volvox {

SessionPlaces::SessionPlaces(std::uint32_t count) : count_(count) {
  for (std::uint32_t place = 0; place < count; ++place) free_.insert(free_.end(), place);
}

// Keeps the place's node of the set: one that comes back needs no memory.
struct SessionPlaces::Lent {
  explicit Lent(std::shared_ptr<SessionPlaces> from) : places(std::move(from)) {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() { places->give_back(std::move(place)); }

  const std::shared_ptr<SessionPlaces> places;
  std::set<std::uint32_t>::node_type place;
};

PlacePtr SessionPlaces::take(std::uint32_t limit) {
  auto lent = std::make_shared<Lent>(shared_from_this());
  const std::lock_guard lock(mutex_);
  auto next = free_.lower_bound(limit);
  if (next == free_.begin()) return nullptr;
  lent->place = free_.extract(--next);
  return {lent, &lent->place.value()};
}

void SessionPlaces::give_back(std::set<std::uint32_t>::node_type&& place) {
  const std::lock_guard lock(mutex_);
  free_.insert(std::move(place));
}

}  // namespace volvox
