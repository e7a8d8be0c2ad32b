#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/large_memory.h"
#include "batching/live_request.h"

namespace volvox {

// The records of the live requests: numbers that are used again, and generations that tell lives apart. Not
// thread-safe.
class RequestTable {
 public:
  // Returns the number of the new request, which waits. References to other records may end.
  std::uint32_t add(Request&& request) {
    std::uint32_t index;
    if (unused_.empty()) {
      index = static_cast<std::uint32_t>(records_.size());
      records_.emplace_back();
    } else {
      index = unused_.back();
      unused_.pop_back();
    }
    records_[index].begin(std::move(request));
    ++live_;
    return index;
  }
  void remove(std::uint32_t index) {
    LiveRequest& live = records_[index];
    live.state = LiveRequest::State::kFree;
    ++live.generation;
    live.request.graph.reset();
    unused_.push_back(index);
    --live_;
  }

  LiveRequest& operator[](std::uint32_t index) { return records_[index]; }
  const LiveRequest& operator[](std::uint32_t index) const { return records_[index]; }
  RequestId id(std::uint32_t index) const { return {index, records_[index].generation}; }
  // nullptr when that life is over.
  LiveRequest* find(RequestId id) {
    if (id.index >= records_.size()) return nullptr;
    LiveRequest& live = records_[id.index];
    return live.generation == id.generation && live.state != LiveRequest::State::kFree ? &live : nullptr;
  }
  // Whether it is there, and nothing has decided yet how it ends.
  bool goes_on(RequestId id) const {
    const LiveRequest& live = records_[id.index];
    return live.generation == id.generation && live.state != LiveRequest::State::kFree &&
           live.outcome == LiveRequest::Outcome::kNone;
  }

  std::uint32_t live() const { return live_; }
  std::uint32_t size() const {
    return static_cast<std::uint32_t>(records_.size());
  }  // records, free ones too

 private:
  std::vector<LiveRequest, LargeAllocator<LiveRequest>> records_;
  std::vector<std::uint32_t> unused_;
  std::uint32_t live_ = 0;
};

}  // namespace volvox
