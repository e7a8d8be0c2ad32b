#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/index_pool.h"
#include "base/time.h"

namespace volvox {

// Sessions of which nothing runs or can run: all of them, and each holder's, the least recently active first.
// O(1), but for what says otherwise. Pure; one thread at a time.
class IdleSessions {
 public:
  // One that is not among them.
  void add(std::uint32_t session, std::uint32_t holder, TimePoint now);
  // These ignore one that is not.
  void remove(std::uint32_t session);
  void touch(std::uint32_t session, TimePoint now);  // its client was heard of

  bool contains(std::uint32_t session) const { return session < records_.size() && records_[session].idle; }
  std::optional<std::uint32_t> first() const { return first_since(TimePoint::max()); }
  // The first one, if nobody has heard of it after `since`.
  std::optional<std::uint32_t> first_since(TimePoint since) const;
  std::optional<TimePoint> oldest() const;  // when the first one was last heard of
  // The holder's first one that may be chosen. O(those before it).
  template <class May>
  std::optional<std::uint32_t> first_of(std::uint32_t holder, May may) const {
    std::uint32_t session = holder < of_holder_.size() ? of_holder_[holder].front() : kNoIndex;
    while (session != kNoIndex && !may(session)) session = records_[session].by_holder.next;
    return session == kNoIndex ? std::nullopt : std::optional(session);
  }

 private:
  struct Record {
    bool idle = false;
    std::uint32_t holder = 0;
    TimePoint since{};
    ListLinks by_age, by_holder;
  };

  std::vector<Record> records_;  // by session
  IndexList<Record, &Record::by_age> all_;
  std::vector<IndexList<Record, &Record::by_holder>> of_holder_;
};

}  // namespace volvox
