#include "serving/connection_bounds.h"

#include <utility>

namespace volvox {

ConnectionBounds::Entry ConnectionBounds::enter(Id id, const std::string& client, TimePoint now) {
  Entry entry;
  const auto held = clients_.find(client);
  const bool has_too_many =
      limits_.per_client != 0 && held != clients_.end() && held->second.all >= limits_.per_client;
  if (has_too_many) {
    entry.gives_way = oldest_that_may(client);
    if (!entry.gives_way) return {Verdict::kClientHasTooMany, std::nullopt};
  } else if (open_.size() >= limits_.connections) {
    entry.gives_way = who_gives_way(client);
    if (!entry.gives_way) return {Verdict::kDoorIsFull, std::nullopt};
  }
  if (entry.gives_way) left(*entry.gives_way);
  Held& counts = clients_[client];
  open_.emplace(id, Connection{client, now, true});
  ++counts.all;
  ++counts.may_go;
  return entry;
}

std::optional<ConnectionBounds::Id> ConnectionBounds::make_room(Id but) {
  const auto found = who_gives_way({}, but);
  if (found) left(*found);
  return found;
}

void ConnectionBounds::stays(Id id) {
  const auto found = open_.find(id);
  if (found == open_.end() || !std::exchange(found->second.may_go, false)) return;
  --clients_.at(found->second.client).may_go;
}

void ConnectionBounds::may_go(Id id, TimePoint now) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  found->second.since = now;
  if (!std::exchange(found->second.may_go, true)) ++clients_.at(found->second.client).may_go;
}

void ConnectionBounds::left(Id id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  const auto client = clients_.find(found->second.client);
  if (found->second.may_go) --client->second.may_go;
  if (--client->second.all == 0) clients_.erase(client);
  open_.erase(found);
}

std::optional<ConnectionBounds::Id> ConnectionBounds::oldest_that_may(const std::string& client,
                                                                      std::optional<Id> but) const {
  for (const auto& [id, connection] : open_) {
    if (connection.may_go && connection.client == client && id != but) return id;
  }
  return std::nullopt;
}

// A newcomer counts among its client's own: one that holds less than others costs them theirs.
std::optional<ConnectionBounds::Id> ConnectionBounds::who_gives_way(const std::string& newcomer,
                                                                    std::optional<Id> but) const {
  const auto kept = but ? open_.find(*but) : open_.end();
  const std::string* biggest = nullptr;
  std::size_t most = 0;
  for (const auto& [client, held] : clients_) {
    const bool one_stays = kept != open_.end() && kept->second.may_go && kept->second.client == client;
    const bool some_may = held.may_go > (one_stays ? 1U : 0U);
    const std::size_t count = some_may ? held.may_go + (client == newcomer ? 1 : 0) : 0;
    if (count <= most) continue;
    most = count;
    biggest = &client;
  }
  return biggest == nullptr ? std::nullopt : oldest_that_may(*biggest, but);
}

std::vector<ConnectionBounds::Id> ConnectionBounds::late(TimePoint now) const {
  std::vector<Id> late;
  for (const auto& [id, connection] : open_) {
    if (connection.may_go && now - connection.since >= limits_.patience) late.push_back(id);
  }
  return late;
}

}  // namespace volvox
