#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace volvox {

// Who has opened a connection to a router and is no member yet, or no longer. Anybody can be one, where links
// are in the clear: they have a bound and a time of their own, so that they neither take the members' places
// nor keep a node out that comes to join. Pure; time is an argument.
template <class Who>
class Newcomers {
 public:
  Newcomers(std::size_t most, Duration patience) : most_(most), patience_(patience) {}

  // One more; one that is known already starts afresh. Who has to go for it: the one that has waited longest,
  // for a node takes an instant to join.
  std::optional<Who> add(const Who& who, TimePoint now) {
    remove(who);
    waiting_.emplace_back(who, now);
    if (waiting_.size() <= most_) return std::nullopt;
    Who oldest = std::move(waiting_.front().first);
    waiting_.pop_front();
    return oldest;
  }
  // It has joined, or is gone.
  void remove(const Who& who) {
    std::erase_if(waiting_, [&](const auto& one) { return one.first == who; });
  }
  // Those whose time is over; they are none any more.
  std::vector<Who> take_expired(TimePoint now) {
    std::vector<Who> expired;
    while (!waiting_.empty() && now - waiting_.front().second >= patience_) {
      expired.push_back(std::move(waiting_.front().first));
      waiting_.pop_front();
    }
    return expired;
  }
  std::size_t size() const { return waiting_.size(); }

 private:
  std::size_t most_;
  Duration patience_;
  std::deque<std::pair<Who, TimePoint>> waiting_;  // the oldest first
};

}  // namespace volvox
