#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"

namespace volvox {

// A client must give every request exactly one answer, although replies may be late, come twice, or never
// come. This keeps what is in flight with its time limits, and remembers the last 65,536 requests that no
// longer are, so that a reply can be told from a late one and from a second one. One thread. Memory grows
// with what is in flight only.
class PendingRequests {
 public:
  enum class Match {
    kPending,    // in flight
    kLate,       // given up on before: timed out, or its connection was lost
    kDuplicate,  // answered before
    kUnknown,    // never sent, or too long ago
  };

  struct Entry {
    TimePoint sent;
    TimePoint deadline;  // TimePoint::max(): none
    std::uint32_t next_partial = 0;
  };

  PendingRequests() : settled_(kRemembered) {}

  // False if this id is in flight already.
  bool add(std::uint64_t id, TimePoint sent, TimePoint deadline);

  Match match(std::uint64_t id) const;

  // The entry, null unless in flight; valid until the next add() or remove().
  Entry* find(std::uint64_t id);

  // Takes a request out of flight, and remembers whether the server answered it or this side gave up.
  void remove(std::uint64_t id, bool answered);

  // Ids whose deadline is at or before `now`, earliest first. They stay in flight until removed.
  std::vector<std::uint64_t> expired(TimePoint now);

  // A lower bound of the earliest deadline; TimePoint::max() if there is none.
  TimePoint next_deadline() const { return deadlines_.empty() ? TimePoint::max() : deadlines_.front().first; }

  std::vector<std::uint64_t> ids() const;
  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kRemembered = std::size_t{1} << 16;
  struct Settled {
    std::uint64_t id = 0;
    bool answered = false;
  };
  using Deadline = std::pair<TimePoint, std::uint64_t>;

  void forget_stale_deadlines();

  std::unordered_map<std::uint64_t, Entry> entries_;
  std::vector<Deadline>
      deadlines_;                 // a heap, earliest first; answered requests leave theirs behind for a while
  std::vector<Settled> settled_;  // by id modulo its size
};

}  // namespace volvox
