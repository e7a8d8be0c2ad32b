#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/index_pool.h"
#include "base/mixing.h"

namespace volvox {

// A map by numbers for entries that come and go all the time, such as requests: they lie in an IndexPool, a
// few together, so that most of them take no allocation, and none keeps a page of memory to itself that
// others have left. erase() never allocates. References and iterators stay valid until the entry is erased;
// entries are visited in the order of their places in the pool. Not thread-safe.
template <class Value>
class RecycledMap {
  struct Node {
    std::pair<std::uint64_t, Value> entry{};
    std::uint32_t next = kNoIndex;  // with the same bucket
  };
  using Nodes = IndexPool<Node, 16>;

  template <class Pool, class Entry>
  class Iterator {
   public:
    Iterator(Pool* nodes, std::uint32_t index) : nodes_(nodes), index_(index) {}
    // NOLINTNEXTLINE(google-explicit-constructor): as for any container
    operator Iterator<const Pool, const Entry>() const { return {nodes_, index_}; }
    Entry& operator*() const { return (*nodes_)[index_].entry; }
    Entry* operator->() const { return &**this; }
    Iterator& operator++() {
      index_ = nodes_->used_from(index_ + 1);
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    friend class RecycledMap;
    Pool* nodes_;
    std::uint32_t index_;
  };

 public:
  using iterator = Iterator<Nodes, std::pair<std::uint64_t, Value>>;
  using const_iterator = Iterator<const Nodes, const std::pair<std::uint64_t, Value>>;

  // A new entry holds a Value{}. False: there is one.
  std::pair<iterator, bool> try_emplace(std::uint64_t key) {
    if (const std::uint32_t found = index_of(key); found != kNoIndex)
      return {iterator(&nodes_, found), false};
    if (nodes_.used() >= buckets_.size()) spread_over(buckets_.empty() ? 8 : 2 * buckets_.size());
    const std::uint32_t index = nodes_.take();
    nodes_[index].entry.first = key;
    std::uint32_t& bucket = buckets_[bucket_of(key)];
    nodes_[index].next = std::exchange(bucket, index);
    return {iterator(&nodes_, index), true};
  }
  Value& operator[](std::uint64_t key) { return try_emplace(key).first->second; }

  void erase(iterator entry) {
    std::uint32_t* to = &buckets_[bucket_of(entry->first)];
    while (*to != entry.index_) to = &nodes_[*to].next;
    *to = nodes_[entry.index_].next;
    nodes_.give_back(entry.index_);
  }

  iterator find(std::uint64_t key) { return {&nodes_, index_of(key)}; }
  const_iterator find(std::uint64_t key) const { return {&nodes_, index_of(key)}; }
  iterator begin() { return {&nodes_, nodes_.used_from(0)}; }
  iterator end() { return {&nodes_, kNoIndex}; }
  const_iterator begin() const { return {&nodes_, nodes_.used_from(0)}; }
  const_iterator end() const { return {&nodes_, kNoIndex}; }
  bool empty() const { return size() == 0; }
  std::size_t size() const { return nodes_.used(); }

 private:
  std::size_t bucket_of(std::uint64_t key) const { return scattered(key) & (buckets_.size() - 1); }
  std::uint32_t index_of(std::uint64_t key) const {
    if (buckets_.empty()) return kNoIndex;
    std::uint32_t index = buckets_[bucket_of(key)];
    while (index != kNoIndex && nodes_[index].entry.first != key) index = nodes_[index].next;
    return index;
  }
  void spread_over(std::size_t buckets) {
    buckets_ = std::vector<std::uint32_t>(buckets, kNoIndex);
    for (std::uint32_t index = nodes_.used_from(0); index != kNoIndex; index = nodes_.used_from(index + 1)) {
      std::uint32_t& bucket = buckets_[bucket_of(nodes_[index].entry.first)];
      nodes_[index].next = std::exchange(bucket, index);
    }
  }

  Nodes nodes_;
  std::vector<std::uint32_t> buckets_;  // of each the first node; a power of two of them
};

}  // namespace volvox
