#include "actors/edge/in_flight.h"

#include <algorithm>
#include <utility>

namespace volvox {

InFlightShare InFlightGauge::enter(const std::shared_ptr<InFlightGauge>& gauge,
                                   const InFlightAmount& amount) {
  if (!gauge->take(amount)) return {};
  return {gauge, amount};
}

bool InFlightGauge::take(const InFlightAmount& amount) {
  const std::size_t requests = requests_.fetch_add(amount.requests) + amount.requests;
  const std::size_t bytes = bytes_.fetch_add(amount.bytes) + amount.bytes;
  if (requests <= limits_.requests && bytes <= limits_.bytes) return true;
  give_back(amount);
  return false;
}

void InFlightGauge::give_back(const InFlightAmount& amount) {
  requests_.fetch_sub(amount.requests);
  bytes_.fetch_sub(amount.bytes);
}

bool InFlightTable::add(const ClientId& client, std::uint64_t id, TimePoint now, const std::string& account) {
  const std::lock_guard lock(mutex_);
  Client& entry = enter(client);
  entry.hear(now);
  entry.account = account;
  return add(entry, id, false);
}

std::vector<bool> InFlightTable::add_all(const ClientId& client, std::span<const std::uint64_t> ids,
                                         TimePoint now, const std::string& account) {
  std::vector<bool> added(ids.size());
  if (ids.empty()) return added;
  const std::lock_guard lock(mutex_);
  Client& entry = enter(client);
  entry.hear(now);
  entry.account = account;
  std::size_t next = 0;
  try {
    for (; next < ids.size(); ++next) added[next] = add(entry, ids[next], true);
  } catch (...) {  // all or nothing: nobody would answer some of them
    while (next-- > 0) {
      if (!added[next]) continue;
      erase(entry, entry.requests.find(ids[next]));
      --unanswered_;
    }
    throw;
  }
  return added;
}

// Under the lock, as the next three.
bool InFlightTable::add(Client& entry, std::uint64_t id, bool bundled) {
  const auto [request, added] = entry.requests.try_emplace(id);
  if (!added) return false;
  request->second.bundled = bundled;
  entry.bundled += bundled ? 1 : 0;
  bundled_ += bundled ? 1 : 0;
  ++unanswered_;
  return true;
}

void InFlightTable::erase(Client& entry, RecycledMap<Request>::iterator request) {
  entry.bundled -= request->second.bundled ? 1 : 0;
  bundled_ -= request->second.bundled ? 1 : 0;
  entry.requests.erase(request);
}

// A client whose requests all end at once begins again the next moment.
InFlightTable::Client& InFlightTable::enter(const ClientId& client) {
  const auto known = clients_.find(client);
  if (known != clients_.end()) return known->second;
  if (spare_.empty()) {
    spare_.reserve(kMostSpare);
    return clients_[client];
  }
  auto node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = client;
  node.mapped().heard = {};
  node.mapped().given_up = false;
  return clients_.insert(std::move(node)).position->second;
}

void InFlightTable::leave_if_idle(Clients::iterator client) {
  if (!client->second.idle()) return;
  if (spare_.size() == spare_.capacity()) {
    clients_.erase(client);
  } else {
    spare_.push_back(clients_.extract(client));
  }
}

void InFlightTable::set(const ClientId& client, std::uint64_t id, caf::actor request) {
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return;
  const auto found = entry->second.requests.find(id);
  if (found != entry->second.requests.end()) found->second.actor.swap(request);
}

void InFlightTable::set_all(const ClientId& client, std::span<const std::uint64_t> ids,
                            const caf::actor& requests) {
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return;
  for (const std::uint64_t id : ids) {
    const auto found = entry->second.requests.find(id);
    if (found != entry->second.requests.end()) found->second.actor = requests;
  }
}

bool InFlightTable::hear(const ClientId& client, TimePoint now, std::string_view account) {
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return true;
  if (entry->second.account != account) return false;
  entry->second.hear(now);
  return true;
}

void InFlightTable::hear_all(TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, client] : clients_) client.heard = std::max(client.heard, now);
}

std::vector<ClientId> InFlightTable::silent(TimePoint since) const {
  const std::lock_guard lock(mutex_);
  std::vector<ClientId> names;
  for (const auto& [name, client] : clients_) {
    if (client.heard < since && !client.given_up) names.push_back(name);
  }
  return names;
}

bool InFlightTable::remove(const ClientId& client, std::uint64_t id, std::string_view account) {
  caf::actor forgotten;  // released after the lock: the last handle frees the actor
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end() || entry->second.account != account) return false;
  auto& requests = entry->second.requests;
  const auto request = requests.find(id);
  if (request == requests.end()) return false;
  forgotten = std::move(request->second.actor);
  erase(entry->second, request);
  leave_if_idle(entry);
  return true;
}

std::vector<bool> InFlightTable::remove_all(const ClientId& client, std::span<const std::uint64_t> ids,
                                            std::string_view account) {
  std::vector<bool> removed(ids.size());
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end() || entry->second.account != account) return removed;
  auto& requests = entry->second.requests;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto request = requests.find(ids[i]);
    if (request == requests.end()) continue;
    erase(entry->second, request);  // not the last handle: its actor asks
    removed[i] = true;
  }
  leave_if_idle(entry);
  return removed;
}

void InFlightTable::answered(std::size_t count) {
  const std::lock_guard lock(mutex_);
  unanswered_ -= count;
  if (unanswered_ == 0) empty_.notify_all();
}

void InFlightTable::expect(const ClientId& client, std::size_t count, TimePoint now,
                           const std::string& account) {
  const std::lock_guard lock(mutex_);
  Client& entry = enter(client);
  entry.hear(now);
  entry.account = account;
  entry.expected += count;
  unanswered_ += count;
}

void InFlightTable::met(const ClientId& client, std::size_t count) {
  const std::lock_guard lock(mutex_);
  unanswered_ -= count;
  if (unanswered_ == 0) empty_.notify_all();
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return;  // all of it was taken
  entry->second.expected -= std::min(count, entry->second.expected);
  leave_if_idle(entry);
}

std::vector<caf::actor> InFlightTable::find_all(const ClientId& client, std::uint64_t first,
                                                std::uint32_t count) const {
  std::vector<caf::actor> found;
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return found;
  const auto& requests = entry->second.requests;
  if (count > requests.size()) {  // whoever asks for many of few costs others no more than those
    for (const auto& [id, request] : requests) {
      if (id - first < count) found.push_back(request.actor);
    }
    return found;
  }
  for (std::uint64_t id = first; id - first < count; ++id) {
    const auto request = requests.find(id);
    if (request != requests.end()) found.push_back(request->second.actor);
  }
  return found;
}

std::vector<caf::actor> InFlightTable::give_up(const ClientId& client) {
  const std::lock_guard lock(mutex_);
  std::vector<caf::actor> requests;
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return requests;
  requests.reserve(entry->second.requests.size());
  for (const auto& [id, request] : entry->second.requests) requests.push_back(request.actor);
  entry->second.given_up = true;
  return requests;
}

std::vector<caf::actor> InFlightTable::take_client(const ClientId& client) {
  const std::lock_guard lock(mutex_);
  std::vector<caf::actor> requests;
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return requests;
  requests.reserve(entry->second.requests.size());
  for (auto& [id, request] : entry->second.requests) requests.push_back(std::move(request.actor));
  bundled_ -= entry->second.bundled;
  clients_.erase(entry);
  unanswered_ -= requests.size();
  if (unanswered_ == 0) empty_.notify_all();
  return requests;
}

std::vector<caf::actor> InFlightTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<caf::actor> requests;
  for (const auto& [name, client] : clients_) {
    for (const auto& [id, request] : client.requests) requests.push_back(request.actor);
  }
  return requests;
}

std::size_t InFlightTable::unanswered() const {
  const std::lock_guard lock(mutex_);
  return unanswered_;
}

std::size_t InFlightTable::bundled() const {
  const std::lock_guard lock(mutex_);
  return bundled_;
}

std::size_t InFlightTable::bundled_of(const ClientId& client) const {
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  return entry == clients_.end() ? 0 : entry->second.bundled;
}

bool InFlightTable::wait_until_empty(Duration timeout) const {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, timeout, [this] { return unanswered_ == 0; });
}

}  // namespace volvox
