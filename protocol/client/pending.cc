#include "protocol/client/pending.h"

#include <algorithm>

namespace volvox {

bool PendingRequests::add(std::uint64_t id, TimePoint sent, TimePoint deadline) {
  if (!entries_.try_emplace(id, Entry{sent, deadline}).second) return false;
  if (deadline == TimePoint::max()) return true;
  deadlines_.emplace_back(deadline, id);
  std::push_heap(deadlines_.begin(), deadlines_.end(), std::greater<>{});
  // Most requests are answered long before their deadline: what they leave behind must not add up.
  if (deadlines_.size() > 2 * entries_.size() + 64) forget_stale_deadlines();
  return true;
}

PendingRequests::Match PendingRequests::match(std::uint64_t id) const {
  if (entries_.contains(id)) return Match::kPending;
  const Settled& settled = settled_[id % kRemembered];
  if (id == 0 || settled.id != id) return Match::kUnknown;
  return settled.answered ? Match::kDuplicate : Match::kLate;
}

PendingRequests::Entry* PendingRequests::find(std::uint64_t id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

void PendingRequests::remove(std::uint64_t id, bool answered) {
  if (entries_.erase(id) > 0) settled_[id % kRemembered] = {id, answered};
}

std::vector<std::uint64_t> PendingRequests::expired(TimePoint now) {
  std::vector<std::uint64_t> ids;
  while (!deadlines_.empty() && deadlines_.front().first <= now) {
    std::pop_heap(deadlines_.begin(), deadlines_.end(), std::greater<>{});
    const auto [deadline, id] = deadlines_.back();
    deadlines_.pop_back();
    // The id may have been answered and used again, with another deadline.
    const Entry* entry = find(id);
    if (entry != nullptr && entry->deadline == deadline) ids.push_back(id);
  }
  return ids;
}

std::vector<std::uint64_t> PendingRequests::ids() const {
  std::vector<std::uint64_t> ids;
  ids.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  return ids;
}

void PendingRequests::forget_stale_deadlines() {
  std::erase_if(deadlines_, [&](const Deadline& deadline) {
    const Entry* entry = find(deadline.second);
    return entry == nullptr || entry->deadline != deadline.first;
  });
  std::make_heap(deadlines_.begin(), deadlines_.end(), std::greater<>{});
}

}  // namespace volvox
