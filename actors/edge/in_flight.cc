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
  return add(entry, id);
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
    for (; next < ids.size(); ++next) added[next] = add(entry, ids[next]);
  } catch (...) {  // all or nothing: nobody would answer some of them
    while (next-- > 0) {
      if (!added[next]) continue;
      entry.requests.erase(entry.requests.find(ids[next]));
      --unanswered_;
    }
    throw;
  }
  const auto count = static_cast<std::size_t>(std::count(added.begin(), added.end(), true));
  entry.bundled += count;
  bundled_ += count;
  return added;
}

// Under the lock.
bool InFlightTable::add(Client& entry, std::uint64_t id) {
  if (!entry.requests.try_emplace(id).second) return false;
  ++unanswered_;
  return true;
}

// Under the lock, as the next. A client whose requests all end at once begins again the next moment.
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
  return clients_.insert(std::move(node)).position->second;
}

void InFlightTable::leave(Clients::iterator client) {
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
  if (found != entry->second.requests.end()) found->second.swap(request);
}

void InFlightTable::set_all(const ClientId& client, std::span<const std::uint64_t> ids,
                            const caf::actor& requests) {
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return;
  for (const std::uint64_t id : ids) {
    const auto found = entry->second.requests.find(id);
    if (found != entry->second.requests.end()) found->second = requests;
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
  for (auto& [name, client] : clients_) client.heard = now;
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
  forgotten = std::move(request->second);
  requests.erase(request);
  if (requests.empty()) leave(entry);
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
    requests.erase(request);  // not the last handle: its actor asks
    removed[i] = true;
    --entry->second.bundled;
    --bundled_;
  }
  if (requests.empty()) leave(entry);
  return removed;
}

void InFlightTable::answered(std::size_t count) {
  const std::lock_guard lock(mutex_);
  unanswered_ -= count;
  if (unanswered_ == 0) empty_.notify_all();
}

void InFlightTable::expect(std::size_t count) {
  const std::lock_guard lock(mutex_);
  unanswered_ += count;
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
      if (id - first < count) found.push_back(request);
    }
    return found;
  }
  for (std::uint64_t id = first; id - first < count; ++id) {
    const auto request = requests.find(id);
    if (request != requests.end()) found.push_back(request->second);
  }
  return found;
}

std::vector<caf::actor> InFlightTable::give_up(const ClientId& client) {
  const std::lock_guard lock(mutex_);
  std::vector<caf::actor> requests;
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return requests;
  requests.reserve(entry->second.requests.size());
  for (const auto& [id, request] : entry->second.requests) requests.push_back(request);
  entry->second.given_up = true;
  return requests;
}

std::vector<caf::actor> InFlightTable::take_client(const ClientId& client) {
  const std::lock_guard lock(mutex_);
  std::vector<caf::actor> requests;
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return requests;
  requests.reserve(entry->second.requests.size());
  for (auto& [id, request] : entry->second.requests) requests.push_back(std::move(request));
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
    for (const auto& [id, request] : client.requests) requests.push_back(request);
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
