#include "batching/ready_queues.h"

#include <algorithm>

namespace volvox {

ReadyQueues::ReadyQueues(std::uint32_t types, std::uint32_t workers)
    : workers_(workers),
      queues_(std::size_t{types} * (workers + 1)),
      at_place_(workers + 1, 0),
      types_at_place_(workers + 1) {}

void ReadyQueues::grow(std::uint32_t types) {
  queues_.resize(std::max(queues_.size(), std::size_t{types} * (workers_ + 1)));
}

void ReadyQueues::note_type(CellTypeId type, WorkerId place) {
  TypeSet& types = types_at_place_[place];
  queue(type, place).ready_total > 0 ? types.insert(type) : types.erase(type);
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

void ReadyQueues::move(EntryId id, WorkerId place) {
  Entry& entry = entries_[id];
  if (entry.place == place) return;
  unlink(id);
  add(entry, -std::int64_t{entry.ready});
  entry.place = place;
  add(entry, entry.ready);
  link_back(id);
}

void ReadyQueues::change_class(EntryId id, PriorityClass priority) {
  Entry& entry = entries_[id];
  unlink(id);
  add(entry, -std::int64_t{entry.ready});
  entry.priority = priority;
  add(entry, entry.ready);
  link_back(id);
}

EntryId ReadyQueues::first_at(CellTypeId type, WorkerId place, PriorityClass priority) const {
  return queue(type, place).lists[static_cast<std::size_t>(priority)].head;
}

EntryId ReadyQueues::last_at(CellTypeId type, WorkerId place, PriorityClass priority) const {
  return queue(type, place).lists[static_cast<std::size_t>(priority)].tail;
}

}  // namespace volvox
