#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/large_memory.h"
#include "batching/request.h"
#include "batching/type_set.h"

namespace volvox {

using EntryId = std::uint32_t;
inline constexpr EntryId kNoEntry = ~EntryId{0};

// Ready nodes wait by cell type, by the worker that may run them (or "any"), and by priority class, in the
// order in which they became ready. Nothing ever scans what cannot run: an entry is one lane, or all ready
// nodes of one type of one graph request; it moves between places in O(1), and counts are kept as it does.
// Not thread-safe.
class ReadyQueues {
 public:
  struct alignas(64) Entry {
    std::uint32_t request = 0;
    std::uint32_t item = 0;  // lane, or group of a graph request
    CellTypeId type = 0;
    WorkerId place = 0;  // a worker, or any()
    PriorityClass priority = PriorityClass::kNormal;
    std::uint32_t ready = 0;  // nodes
    std::uint32_t turn = 0;   // in which it was queued last
    TimePoint since{};
    EntryId prev = kNoEntry, next = kNoEntry;
  };

  ReadyQueues(std::uint32_t types, std::uint32_t workers);

  WorkerId any() const { return workers_; }
  // Makes room for so many types, if there is less.
  void grow(std::uint32_t types);

  EntryId push_back(const Entry& entry);
  EntryId push_front(const Entry& entry);
  void erase(EntryId id);
  void move(EntryId id, WorkerId place);  // to the end of the same type's queue of another place
  void change_class(EntryId id, PriorityClass priority);  // to the end of that class's queue
  void set_ready(EntryId id, std::uint32_t ready);
  // As if erased and pushed to the end again.
  void requeue(EntryId id, std::uint32_t ready, TimePoint since);

  // What is queued from now on belongs to a new turn: first_of_earlier() leaves it out.
  void begin_turn() { ++turn_; }

  const Entry& operator[](EntryId id) const { return entries_[id]; }
  // The next entry for the worker: the highest class; its own before anyone's. kNoEntry when there is none.
  EntryId first(CellTypeId type, WorkerId worker) const;
  // The same among the entries that were queued in earlier turns.
  EntryId first_of_earlier(CellTypeId type, WorkerId worker) const;
  EntryId first_at(CellTypeId type, WorkerId place, PriorityClass priority) const;
  EntryId last_at(CellTypeId type, WorkerId place, PriorityClass priority) const;

  std::uint32_t count(CellTypeId type, WorkerId place) const { return queue(type, place).ready_total; }
  std::uint32_t count(CellTypeId type, WorkerId place, PriorityClass priority) const {
    return queue(type, place).ready[static_cast<std::size_t>(priority)];
  }
  // What the worker may take: its own and anyone's.
  std::uint32_t count_for(CellTypeId type, WorkerId worker) const {
    return queue(type, worker).ready_total + queue(type, workers_).ready_total;
  }
  std::uint32_t count_for(CellTypeId type, WorkerId worker, PriorityClass priority) const {
    return count(type, worker, priority) + count(type, workers_, priority);
  }
  // The same, class by class.
  std::array<std::uint32_t, kPriorityClasses> classes_for(CellTypeId type, WorkerId worker) const {
    std::array<std::uint32_t, kPriorityClasses> sums = queue(type, worker).ready;
    const auto& open = queue(type, workers_).ready;
    for (std::size_t c = 0; c < kPriorityClasses; ++c) sums[c] += open[c];
    return sums;
  }
  // The types of which anything is ready at the place.
  const TypeSet& types_at(WorkerId place) const { return types_at_place_[place]; }
  // Ready nodes of all types at the place.
  std::uint32_t count_at(WorkerId place) const { return at_place_[place]; }

 private:
  struct List {
    EntryId head = kNoEntry, tail = kNoEntry;
  };
  struct Queue {
    std::array<List, kPriorityClasses> lists;
    std::array<std::uint32_t, kPriorityClasses> ready{};
    std::uint32_t ready_total = 0;
  };

  Queue& queue(CellTypeId type, WorkerId place) { return queues_[type * (workers_ + 1) + place]; }
  const Queue& queue(CellTypeId type, WorkerId place) const { return queues_[type * (workers_ + 1) + place]; }
  EntryId make(const Entry& entry);
  void link_back(EntryId id);
  void unlink(EntryId id);
  void add(const Entry& entry, std::int64_t nodes);
  void note_type(CellTypeId type, WorkerId place);

  std::uint32_t workers_;
  std::uint32_t turn_ = 0;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> at_place_;
  std::vector<TypeSet> types_at_place_;
  std::vector<Entry, LargeAllocator<Entry>> entries_;
  std::vector<EntryId> unused_;
};

inline void ReadyQueues::add(const Entry& entry, std::int64_t nodes) {
  Queue& q = queue(entry.type, entry.place);
  const auto delta = static_cast<std::uint32_t>(nodes);  // wraps for a negative number, as unsigned sums do
  q.ready[static_cast<std::size_t>(entry.priority)] += delta;
  const std::uint32_t before = q.ready_total;
  q.ready_total = before + delta;
  at_place_[entry.place] += delta;
  if (before == 0 || q.ready_total == 0) note_type(entry.type, entry.place);
}

inline void ReadyQueues::link_back(EntryId id) {
  Entry& entry = entries_[id];
  List& list = queue(entry.type, entry.place).lists[static_cast<std::size_t>(entry.priority)];
  entry.prev = list.tail;
  entry.next = kNoEntry;
  entry.turn = turn_;
  (list.tail == kNoEntry ? list.head : entries_[list.tail].next) = id;
  list.tail = id;
}

inline void ReadyQueues::unlink(EntryId id) {
  const Entry& entry = entries_[id];
  List& list = queue(entry.type, entry.place).lists[static_cast<std::size_t>(entry.priority)];
  (entry.prev == kNoEntry ? list.head : entries_[entry.prev].next) = entry.next;
  (entry.next == kNoEntry ? list.tail : entries_[entry.next].prev) = entry.prev;
}

inline void ReadyQueues::set_ready(EntryId id, std::uint32_t ready) {
  add(entries_[id], std::int64_t{ready} - entries_[id].ready);
  entries_[id].ready = ready;
}

inline EntryId ReadyQueues::first(CellTypeId type, WorkerId worker) const {
  const Queue& own = queue(type, worker);
  const Queue& open = queue(type, workers_);
  for (std::size_t c = 0; c < kPriorityClasses; ++c) {
    if (own.lists[c].head != kNoEntry) return own.lists[c].head;
    if (open.lists[c].head != kNoEntry) return open.lists[c].head;
  }
  return kNoEntry;
}

inline EntryId ReadyQueues::first_of_earlier(CellTypeId type, WorkerId worker) const {
  // A list is in the order of its turns: its head is as old as any.
  const auto earlier = [this](const List& list) {
    return list.head != kNoEntry && entries_[list.head].turn != turn_;
  };
  const Queue& own = queue(type, worker);
  const Queue& open = queue(type, workers_);
  for (std::size_t c = 0; c < kPriorityClasses; ++c) {
    if (earlier(own.lists[c])) return own.lists[c].head;
    if (earlier(open.lists[c])) return open.lists[c].head;
  }
  return kNoEntry;
}

inline void ReadyQueues::requeue(EntryId id, std::uint32_t ready, TimePoint since) {
  unlink(id);
  set_ready(id, ready);
  entries_[id].since = since;
  link_back(id);
}

inline void ReadyQueues::erase(EntryId id) {
  unlink(id);
  add(entries_[id], -std::int64_t{entries_[id].ready});
  unused_.push_back(id);
}

[[gnu::always_inline]] inline EntryId ReadyQueues::make(const Entry& entry) {
  EntryId id;
  if (unused_.empty()) {
    id = static_cast<EntryId>(entries_.size());
    entries_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  // Field by field: a copy would read back in wide pieces what was just written in small ones, and stall.
  Entry& made = entries_[id];
  made.request = entry.request;
  made.item = entry.item;
  made.type = entry.type;
  made.place = entry.place;
  made.priority = entry.priority;
  made.ready = entry.ready;
  made.since = entry.since;
  add(entry, entry.ready);
  return id;
}

[[gnu::always_inline]] inline EntryId ReadyQueues::push_back(const Entry& entry) {
  const EntryId id = make(entry);
  link_back(id);
  return id;
}

}  // namespace volvox
