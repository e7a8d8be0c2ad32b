#include "serving/door_line.h"

#include <algorithm>

namespace volvox {

void DoorLine::wait(Id id, const std::string& client, bool question) {
  line_.push_back({id, client, question});
}

std::optional<DoorLine::Id> DoorLine::next() {
  if (through_.size() >= threads_) return std::nullopt;
  const auto holds = [this](const Place& place) {
    const auto found = held_.find(place.client);
    return found == held_.end() ? std::size_t{0} : found->second;
  };
  auto best = line_.end();
  for (auto place = line_.begin(); place != line_.end(); ++place) {
    if (!place->question && with_contents_ >= contents_) continue;
    if (best == line_.end() || holds(*place) < holds(*best)) best = place;
  }
  if (best == line_.end()) return std::nullopt;
  const Id id = best->id;
  std::size_t& held = held_[best->client];
  const Place& place = through_.emplace(id, std::move(*best)).first->second;
  ++held;
  if (!place.question) ++with_contents_;
  line_.erase(best);
  return id;
}

void DoorLine::left(Id id) {
  const auto found = through_.find(id);
  if (found == through_.end()) {
    line_.remove_if([id](const Place& place) { return place.id == id; });
    return;
  }
  const auto held = held_.find(found->second.client);
  if (--held->second == 0) held_.erase(held);
  if (!found->second.question) --with_contents_;
  through_.erase(found);
}

}  // namespace volvox
