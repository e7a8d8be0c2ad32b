#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "base/large_memory.h"
#include "batching/live_request.h"

namespace volvox {

// The records of the live requests: numbers that are used again, and generations that tell lives apart. They
// lie side by side; when the upper half of the table has not been used for long, it goes. Not thread-safe.
class RequestTable {
 public:
  // Returns the number of the new request, which waits. References to other records may end, and so may
  // numbers that are not live.
  std::uint32_t add(Request&& request) {
    quiet_ = live_above_ == 0 ? quiet_ + 1 : 0;
    if (quiet_ > 4 * records_.capacity() && records_.capacity() > kLeast) try_to_halve();
    if (unused_below_.empty() && unused_above_.empty()) make_one();
    // The one that came free last is still in a cache.
    auto& unused = unused_below_.empty() ? unused_above_ : unused_below_;
    const std::uint32_t index = unused.back();
    unused.pop_back();
    live_above_ += is_above(index) ? 1 : 0;
    ++live_;
    records_[index].begin(std::move(request), ++lives_);
    return index;
  }
  void remove(std::uint32_t index) {
    LiveRequest& live = records_[index];
    live.state = LiveRequest::State::kFree;
    live.generation = 0;  // no life has it
    live.request.graph.reset();
    (is_above(index) ? unused_above_ : unused_below_).push_back(index);
    live_above_ -= is_above(index) ? 1 : 0;
    --live_;
  }

  LiveRequest& operator[](std::uint32_t index) { return records_[index]; }
  const LiveRequest& operator[](std::uint32_t index) const { return records_[index]; }
  RequestId id(std::uint32_t index) const { return {index, records_[index].generation}; }
  // nullptr when that life is over.
  LiveRequest* find(RequestId id) { return lives(id) ? &records_[id.index] : nullptr; }
  // Whether it is there, and nothing has decided yet how it ends.
  bool goes_on(RequestId id) const {
    return lives(id) && records_[id.index].outcome == LiveRequest::Outcome::kNone;
  }

  std::uint32_t live() const { return live_; }
  std::uint32_t size() const {
    return static_cast<std::uint32_t>(records_.size());
  }  // records, free ones too

 private:
  using Records = std::vector<LiveRequest, LargeAllocator<LiveRequest>>;
  static constexpr std::size_t kLeast = 256;

  bool lives(RequestId id) const {
    if (id.index >= records_.size()) return false;
    const LiveRequest& live = records_[id.index];
    return live.generation == id.generation && live.state != LiveRequest::State::kFree;
  }
  // In the upper half of the table's room.
  bool is_above(std::uint32_t index) const { return index >= records_.capacity() / 2; }

  void make_one() {
    if (records_.size() == records_.capacity()) {
      const std::size_t room = std::max<std::size_t>(2 * records_.capacity(), 64);
      unused_below_.reserve(room);  // so that remove() never allocates
      unused_above_.reserve(room);
      records_.reserve(room);
      live_above_ = quiet_ = 0;
    }
    records_.emplace_back();
    const auto index = static_cast<std::uint32_t>(records_.size() - 1);
    (is_above(index) ? unused_above_ : unused_below_).push_back(index);
  }
  // Where there is no memory for the lower half alone, all stays as it is.
  void try_to_halve() {
    quiet_ = 0;
    Records below;
    try {
      below.reserve(records_.capacity() / 2);
    } catch (const std::bad_alloc&) {
      return;
    }
    for (std::size_t i = 0; i < std::min(records_.size(), below.capacity()); ++i)
      below.push_back(std::move(records_[i]));
    records_ = std::move(below);
    unused_above_.clear();
    live_above_ = records_.size() - std::min(records_.size(), records_.capacity() / 2);
    std::erase_if(unused_below_, [this](std::uint32_t index) {
      if (!is_above(index)) return false;
      unused_above_.push_back(index);
      --live_above_;
      return true;
    });
  }

  Records records_;
  std::vector<std::uint32_t> unused_below_, unused_above_;  // by half
  std::size_t live_above_ = 0;
  std::size_t quiet_ = 0;  // so many have been added since one lived above
  std::uint32_t live_ = 0;
  std::uint32_t lives_ = 0;  // so many have begun
};

}  // namespace volvox
