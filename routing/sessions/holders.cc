#include "routing/sessions/holders.h"

namespace volvox {

std::uint32_t Holders::refer(const HolderName& name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) {
    ++pool_[known->second].references;
    return known->second;
  }
  const std::uint32_t holder = pool_.take();
  Record& record = pool_[holder];
  record.account = name.account;
  record.name = {record.account, name.connection};
  record.references = 1;
  numbers_.emplace(record.name, holder);
  return holder;
}

void Holders::release(std::uint32_t holder) {
  if (--pool_[holder].references > 0) return;
  numbers_.erase(pool_[holder].name);
  pool_.give_back(holder);
}

std::uint32_t Holders::find(const HolderName& name) const {
  const auto known = numbers_.find(name);
  return known == numbers_.end() ? kNoIndex : known->second;
}

void Holdings::add(std::uint32_t holder, std::uint64_t amount) {
  if (amount == 0) return;
  if (holder >= held_.size()) held_.resize(holder + 1);
  Held& held = held_[holder];
  held.amount += amount;
  total_ += amount;
  if (held.at == kNoIndex) {
    heap_.push_back(holder);
    held.at = static_cast<std::uint32_t>(heap_.size() - 1);
  }
  rise(held.at);
}

void Holdings::remove(std::uint32_t holder, std::uint64_t amount) {
  if (amount == 0) return;
  Held& held = held_[holder];
  held.amount -= amount;
  total_ -= amount;
  if (held.amount > 0) return sink(held.at);
  const std::size_t hole = held.at;
  held.at = kNoIndex;
  const std::uint32_t last = heap_.back();
  heap_.pop_back();
  if (last == holder) return;
  put(hole, last);
  rise(hole);
  sink(held_[last].at);
}

bool Holdings::before(std::uint32_t one, std::uint32_t other) const {
  return held_[one].amount != held_[other].amount ? held_[one].amount > held_[other].amount : one < other;
}

void Holdings::put(std::size_t at, std::uint32_t holder) {
  heap_[at] = holder;
  held_[holder].at = static_cast<std::uint32_t>(at);
}

void Holdings::rise(std::size_t at) {
  const std::uint32_t holder = heap_[at];
  for (; at > 0 && before(holder, heap_[(at - 1) / 2]); at = (at - 1) / 2) put(at, heap_[(at - 1) / 2]);
  put(at, holder);
}

void Holdings::sink(std::size_t at) {
  const std::uint32_t holder = heap_[at];
  for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], holder)) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, holder);
}

}  // namespace volvox
