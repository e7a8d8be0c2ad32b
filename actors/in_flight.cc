#include "actors/in_flight.h"

#include <utility>

namespace volvox {

std::shared_ptr<const void> InFlightGauge::enter(const std::shared_ptr<InFlightGauge>& gauge,
                                                 std::size_t bytes) {
  if (!gauge->take(bytes)) return nullptr;
  return {gauge.get(), [gauge, bytes](const void*) { gauge->give_back(bytes); }};
}

bool InFlightGauge::take(std::size_t bytes) {
  const std::size_t requests = requests_.fetch_add(1) + 1;
  const std::size_t total = bytes_.fetch_add(bytes) + bytes;
  if (requests <= limits_.requests && total <= limits_.bytes) return true;
  give_back(bytes);
  return false;
}

void InFlightGauge::give_back(std::size_t bytes) {
  requests_.fetch_sub(1);
  bytes_.fetch_sub(bytes);
}

bool InFlightTable::add(const ClientId& client, std::uint64_t id, const caf::actor& request) {
  const std::lock_guard lock(mutex_);
  if (!clients_[client].try_emplace(id, request).second) return false;
  ++unanswered_;
  return true;
}

bool InFlightTable::remove(const ClientId& client, std::uint64_t id) {
  caf::actor forgotten;  // released after the lock: the last handle frees the actor
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return false;
  const auto request = entry->second.find(id);
  if (request == entry->second.end()) return false;
  forgotten = std::move(request->second);
  entry->second.erase(request);
  if (entry->second.empty()) clients_.erase(entry);
  return true;
}

void InFlightTable::answered() {
  const std::lock_guard lock(mutex_);
  if (--unanswered_ == 0) empty_.notify_all();
}

caf::actor InFlightTable::find(const ClientId& client, std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return {};
  const auto request = entry->second.find(id);
  return request == entry->second.end() ? caf::actor{} : request->second;
}

std::vector<caf::actor> InFlightTable::take_client(const ClientId& client) {
  const std::lock_guard lock(mutex_);
  std::vector<caf::actor> requests;
  const auto entry = clients_.find(client);
  if (entry == clients_.end()) return requests;
  for (auto& [id, request] : entry->second) requests.push_back(std::move(request));
  clients_.erase(entry);
  unanswered_ -= requests.size();
  if (unanswered_ == 0) empty_.notify_all();
  return requests;
}

std::vector<caf::actor> InFlightTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<caf::actor> requests;
  for (const auto& [client, by_id] : clients_) {
    for (const auto& [id, request] : by_id) requests.push_back(request);
  }
  return requests;
}

bool InFlightTable::wait_until_empty(Duration timeout) const {
  std::unique_lock lock(mutex_);
  return empty_.wait_for(lock, timeout, [this] { return unanswered_ == 0; });
}

}  // namespace volvox
