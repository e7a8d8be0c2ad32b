#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/time.h"
#include "batching/request.h"

namespace volvox {

// Something happens to a request at a set time, unless it ends before: a heap by time. Requests that end are
// not looked for; their entries go when they come up, or when add() finds that they may outnumber the others.
// Not thread-safe.
class DueList {
 public:
  std::optional<TimePoint> next() const {
    return entries_.empty() ? std::nullopt : std::optional(entries_.front().at);
  }

  // `live` requests exist, and `is_live(id)` says whether this is one of them.
  template <class IsLive>
  void add(TimePoint at, RequestId id, std::size_t live, IsLive is_live) {
    if (entries_.size() > 2 * live + kFewEntries) forget_stale(is_live);
    entries_.push_back({at, id});
    std::push_heap(entries_.begin(), entries_.end(), later);
  }

  // Calls take(id) for each live request that is due by `now`. `take` may call add().
  template <class IsLive, class Take>
  void take_due(TimePoint now, IsLive is_live, Take take) {
    while (!entries_.empty()) {
      const Entry first = entries_.front();
      const bool live = is_live(first.id);
      if (live && first.at > now) return;
      std::pop_heap(entries_.begin(), entries_.end(), later);
      entries_.pop_back();
      if (live) take(first.id);
    }
  }

 private:
  struct Entry {
    TimePoint at;
    RequestId id;
  };
  static constexpr std::size_t kFewEntries = 1024;

  static bool later(const Entry& a, const Entry& b) { return a.at > b.at; }

  template <class IsLive>
  void forget_stale(IsLive is_live) {
    std::erase_if(entries_, [&](const Entry& entry) { return !is_live(entry.id); });
    std::make_heap(entries_.begin(), entries_.end(), later);
  }

  std::vector<Entry> entries_;
};

}  // namespace volvox
