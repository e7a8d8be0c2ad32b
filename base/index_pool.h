#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace volvox {

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

// Records that come and go all the time, by index, in chunks of kChunk. The lowest index that is free is
// taken first, and a chunk in which none is used goes: after a burst, the memory of the burst comes free with
// its records, and does not lie scattered among other things. The generation tells a record from earlier ones
// of its index. References stay valid until the record is given back. take() and give_back() look at a word
// for each chunk that is full, at most. Not thread-safe.
template <class T, std::size_t kChunk = 64>
class IndexPool {
 public:
  // A T{}. Without memory for it nothing has changed.
  std::uint32_t take() {
    while (first_ < chunks_.size() && chunks_[first_].unused == 0) ++first_;
    if (first_ == chunks_.size()) chunks_.emplace_back();
    Chunk& chunk = chunks_[first_];
    if (chunk.entries == nullptr) chunk.entries = std::make_unique<Entry[]>(kChunk);
    const auto place = static_cast<std::size_t>(std::countr_zero(chunk.unused));
    chunk.unused &= chunk.unused - 1;
    chunk.entries[place].generation = ++lives_;
    ++used_;
    return static_cast<std::uint32_t>(first_ * kChunk + place);
  }
  // Never allocates.
  void give_back(std::uint32_t index) {
    // What the value's end does may come back here.
    [[maybe_unused]] const T gone = std::exchange((*this)[index], T{});
    Chunk& chunk = chunks_[index / kChunk];
    chunk.unused |= std::uint64_t{1} << index % kChunk;
    --used_;
    // The first one that is empty stays, for whoever comes next.
    const std::size_t later = std::max<std::size_t>(first_, index / kChunk);
    first_ = std::min<std::size_t>(first_, index / kChunk);
    if (later > first_ && later < chunks_.size() && chunks_[later].unused == kAll)
      chunks_[later].entries = nullptr;
  }

  T& operator[](std::uint32_t index) { return chunks_[index / kChunk].entries[index % kChunk].value; }
  const T& operator[](std::uint32_t index) const {
    return chunks_[index / kChunk].entries[index % kChunk].value;
  }

  // Of one that is in use.
  std::uint32_t generation(std::uint32_t index) const {
    return chunks_[index / kChunk].entries[index % kChunk].generation;
  }
  bool in_use(std::uint32_t index) const {
    return index < size() && (chunks_[index / kChunk].unused >> index % kChunk & 1) == 0;
  }
  bool valid(std::uint32_t index, std::uint32_t generation) const {
    return in_use(index) && this->generation(index) == generation;
  }

  // The first one in use that is not before `index`; kNoIndex: none is.
  std::uint32_t used_from(std::uint32_t index) const {
    for (std::size_t at = index / kChunk; at < chunks_.size(); ++at) {
      const std::uint64_t used = ~chunks_[at].unused & kAll;
      const std::uint64_t left = at == index / kChunk ? used >> index % kChunk << index % kChunk : used;
      if (left != 0)
        return static_cast<std::uint32_t>(at * kChunk + static_cast<std::size_t>(std::countr_zero(left)));
    }
    return kNoIndex;
  }

  std::size_t used() const { return used_; }
  // None at or behind it was ever in use.
  std::uint32_t size() const { return static_cast<std::uint32_t>(chunks_.size() * kChunk); }

 private:
  struct Entry {
    T value{};
    std::uint32_t generation = 0;
  };
  static_assert(kChunk > 0 && kChunk <= 64);
  static constexpr std::uint64_t kAll = ~std::uint64_t{0} >> (64 - kChunk);
  struct Chunk {
    std::uint64_t unused = kAll;         // a bit for each entry
    std::unique_ptr<Entry[]> entries{};  // null: none is in use
  };

  std::vector<Chunk> chunks_;
  std::size_t first_ = 0;  // no chunk before it has an unused entry
  std::size_t used_ = 0;
  std::uint32_t lives_ = 0;
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
