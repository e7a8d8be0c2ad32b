#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "batching/request.h"

namespace volvox {

using EntryId = std::uint32_t;
inline constexpr EntryId kNoEntry = ~EntryId{0};

// Ready nodes wait by cell type, by the worker that may run them (or "any"), and by priority class, in the
// order in which they became ready. Nothing ever scans what cannot run: an entry is one lane, or all ready
// nodes of one type of one graph request; it moves between places in O(1), and counts are kept as it does.
// Not thread-safe.
class ReadyQueues {
 public:
  struct Entry {
    std::uint32_t request = 0;
    std::uint32_t item = 0;  // lane, or group of a graph request
    CellTypeId type = 0;
    WorkerId place = 0;  // a worker, or any()
    PriorityClass priority = PriorityClass::kNormal;
    std::uint32_t ready = 0;  // nodes
    TimePoint since{};
    EntryId prev = kNoEntry, next = kNoEntry;
  };

  ReadyQueues(std::uint32_t types, std::uint32_t workers);

  WorkerId any() const { return workers_; }

  EntryId push_back(const Entry& entry);
  EntryId push_front(const Entry& entry);
  void erase(EntryId id);
  void move(EntryId id, WorkerId place);  // to the end of the same type's queue of another place
  void set_ready(EntryId id, std::uint32_t ready);

  const Entry& operator[](EntryId id) const { return entries_[id]; }
  // The next entry for the worker: the highest class; its own before anyone's. kNoEntry when there is none.
  EntryId first(CellTypeId type, WorkerId worker) const;
  EntryId first_at(CellTypeId type, WorkerId place, PriorityClass priority) const;
  EntryId last_at(CellTypeId type, WorkerId place, PriorityClass priority) const;

  std::uint32_t count(CellTypeId type, WorkerId place) const { return queue(type, place).ready_total; }
  std::uint32_t count(CellTypeId type, WorkerId place, PriorityClass priority) const {
    return queue(type, place).ready[static_cast<std::size_t>(priority)];
  }
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

  std::uint32_t workers_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> at_place_;
  std::vector<Entry> entries_;
  std::vector<EntryId> unused_;
};

}  // namespace volvox
