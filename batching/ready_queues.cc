#include "batching/ready_queues.h"

namespace volvox {

ReadyQueues::ReadyQueues(std::uint32_t types, std::uint32_t workers)
    : workers_(workers), queues_(std::size_t{types} * (workers + 1)), at_place_(workers + 1, 0) {}

EntryId ReadyQueues::make(const Entry& entry) {
  EntryId id;
  if (unused_.empty()) {
    id = static_cast<EntryId>(entries_.size());
    entries_.push_back(entry);
  } else {
    id = unused_.back();
    unused_.pop_back();
    entries_[id] = entry;
  }
  add(entry, entry.ready);
  return id;
}

void ReadyQueues::add(const Entry& entry, std::int64_t nodes) {
  Queue& q = queue(entry.type, entry.place);
  const auto delta = static_cast<std::uint32_t>(nodes);  // wraps for a negative number, as unsigned sums do
  q.ready[static_cast<std::size_t>(entry.priority)] += delta;
  q.ready_total += delta;
  at_place_[entry.place] += delta;
}

void ReadyQueues::link_back(EntryId id) {
  Entry& entry = entries_[id];
  List& list = queue(entry.type, entry.place).lists[static_cast<std::size_t>(entry.priority)];
  entry.prev = list.tail;
  entry.next = kNoEntry;
  (list.tail == kNoEntry ? list.head : entries_[list.tail].next) = id;
  list.tail = id;
}

void ReadyQueues::unlink(EntryId id) {
  const Entry& entry = entries_[id];
  List& list = queue(entry.type, entry.place).lists[static_cast<std::size_t>(entry.priority)];
  (entry.prev == kNoEntry ? list.head : entries_[entry.prev].next) = entry.next;
  (entry.next == kNoEntry ? list.tail : entries_[entry.next].prev) = entry.prev;
}

EntryId ReadyQueues::push_back(const Entry& entry) {
  const EntryId id = make(entry);
  link_back(id);
  return id;
}

EntryId ReadyQueues::push_front(const Entry& value) {
  const EntryId id = make(value);
  Entry& entry = entries_[id];
  List& list = queue(entry.type, entry.place).lists[static_cast<std::size_t>(entry.priority)];
  entry.prev = kNoEntry;
  entry.next = list.head;
  (list.head == kNoEntry ? list.tail : entries_[list.head].prev) = id;
  list.head = id;
  return id;
}

void ReadyQueues::erase(EntryId id) {
  unlink(id);
  add(entries_[id], -std::int64_t{entries_[id].ready});
  unused_.push_back(id);
}

void ReadyQueues::move(EntryId id, WorkerId place) {
  Entry& entry = entries_[id];
  if (entry.place == place) return;
  unlink(id);
  add(entry, -std::int64_t{entry.ready});
  entry.place = place;
  add(entry, entry.ready);
  link_back(id);
}

void ReadyQueues::set_ready(EntryId id, std::uint32_t ready) {
  add(entries_[id], std::int64_t{ready} - entries_[id].ready);
  entries_[id].ready = ready;
}

EntryId ReadyQueues::first_at(CellTypeId type, WorkerId place, PriorityClass priority) const {
  return queue(type, place).lists[static_cast<std::size_t>(priority)].head;
}

EntryId ReadyQueues::last_at(CellTypeId type, WorkerId place, PriorityClass priority) const {
  return queue(type, place).lists[static_cast<std::size_t>(priority)].tail;
}

EntryId ReadyQueues::first(CellTypeId type, WorkerId worker) const {
  const Queue& own = queue(type, worker);
  const Queue& open = queue(type, workers_);
  for (std::size_t c = 0; c < kPriorityClasses; ++c) {
    if (own.lists[c].head != kNoEntry) return own.lists[c].head;
    if (open.lists[c].head != kNoEntry) return open.lists[c].head;
  }
  return kNoEntry;
}

}  // namespace volvox
