#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace volvox {

// A map by numbers for entries that come and go all the time, such as requests: the memory of some that went
// is kept for those that come. erase() never allocates.
template <class Value>
class RecycledMap {
 public:
  using Map = std::unordered_map<std::uint64_t, Value>;
  using iterator = typename Map::iterator;
  using const_iterator = typename Map::const_iterator;

  // A new entry holds a Value{}. False: there is one.
  std::pair<iterator, bool> try_emplace(std::uint64_t key) {
    if (spare_.empty()) {
      if (spare_.capacity() <= map_.size()) spare_.reserve(std::min(kMostSpare, 2 * (map_.size() + 1)));
      return map_.try_emplace(key);
    }
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = key;
    auto placed = map_.insert(std::move(node));
    if (!placed.inserted) spare_.push_back(std::move(placed.node));
    return {placed.position, placed.inserted};
  }
  Value& operator[](std::uint64_t key) { return try_emplace(key).first->second; }

  void erase(iterator entry) {
    if (spare_.size() == spare_.capacity()) {
      map_.erase(entry);
      return;
    }
    auto node = map_.extract(entry);
    [[maybe_unused]] const Value gone = std::exchange(node.mapped(), Value{});  // its end may come back here
    spare_.push_back(std::move(node));
  }

  iterator find(std::uint64_t key) { return map_.find(key); }
  const_iterator find(std::uint64_t key) const { return map_.find(key); }
  iterator begin() { return map_.begin(); }
  iterator end() { return map_.end(); }
  const_iterator begin() const { return map_.begin(); }
  const_iterator end() const { return map_.end(); }
  bool empty() const { return map_.empty(); }
  std::size_t size() const { return map_.size(); }

 private:
  static constexpr std::size_t kMostSpare = 1024;

  Map map_;
  std::vector<typename Map::node_type> spare_;
};

}  // namespace volvox
