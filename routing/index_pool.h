#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/stable_vector.h"

namespace volvox {

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

// Records that come and go all the time, without an allocation each: a record is named by its index, and an
// index that was given back is taken again. The generation tells a record from earlier ones of its index.
// References stay valid until the record is given back. Not thread-safe.
template <class T>
class IndexPool {
 public:
  std::uint32_t take() {
    ++used_;
    if (unused_.empty()) {
      entries_.grow().used = true;
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::uint32_t index = unused_.back();
    unused_.pop_back();
    entries_[index].used = true;
    return index;
  }
  void give_back(std::uint32_t index) {
    Entry& entry = entries_[index];
    entry.value = T{};
    entry.used = false;
    ++entry.generation;
    unused_.push_back(index);
    --used_;
  }

  T& operator[](std::uint32_t index) { return entries_[index].value; }
  const T& operator[](std::uint32_t index) const { return entries_[index].value; }

  std::uint32_t generation(std::uint32_t index) const { return entries_[index].generation; }
  bool in_use(std::uint32_t index) const { return index < entries_.size() && entries_[index].used; }
  bool valid(std::uint32_t index, std::uint32_t generation) const {
    return in_use(index) && entries_[index].generation == generation;
  }

  std::size_t used() const { return used_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }  // ever made

 private:
  struct Entry {
    T value{};
    std::uint32_t generation = 0;
    bool used = false;
  };

  StableVector<Entry> entries_;
  std::vector<std::uint32_t> unused_;
  std::size_t used_ = 0;
};

struct ListLinks {
  std::uint32_t prev = kNoIndex, next = kNoIndex;
};

// A list through records of a pool, or of anything else that has them by index; kLinks is the member that it
// runs through, so that a record can be in as many lists as it has such members. Everything is O(1). Whoever
// calls knows which records are in the list, and where they are.
template <class T, ListLinks T::*kLinks>
class IndexList {
 public:
  std::uint32_t front() const { return head_; }  // kNoIndex when empty, as back()
  std::uint32_t back() const { return tail_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  template <class Records>
  void push_back(Records& records, std::uint32_t index) {
    insert_after(records, tail_, index);
  }
  // kNoIndex: at the front.
  template <class Records>
  void insert_after(Records& records, std::uint32_t before, std::uint32_t index) {
    const std::uint32_t after = before == kNoIndex ? head_ : (records[before].*kLinks).next;
    records[index].*kLinks = {before, after};
    (before == kNoIndex ? head_ : (records[before].*kLinks).next) = index;
    (after == kNoIndex ? tail_ : (records[after].*kLinks).prev) = index;
    ++size_;
  }
  template <class Records>
  void erase(Records& records, std::uint32_t index) {
    const ListLinks links = records[index].*kLinks;
    (links.prev == kNoIndex ? head_ : (records[links.prev].*kLinks).next) = links.next;
    (links.next == kNoIndex ? tail_ : (records[links.next].*kLinks).prev) = links.prev;
    records[index].*kLinks = {};
    --size_;
  }
  template <class Records>
  void move_to_back(Records& records, std::uint32_t index) {
    erase(records, index);
    push_back(records, index);
  }

 private:
  std::uint32_t head_ = kNoIndex, tail_ = kNoIndex;
  std::size_t size_ = 0;
};

}  // namespace volvox
