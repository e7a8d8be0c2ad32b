#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace volvox {

// What a client is told of a part that has failed.
struct PartVerdict {
  Error error;
  bool undecided = false;  // nobody knows: it may have been done all the same
};

// A part of a session changes it, and only its home knows whether it has: a router that answers for it may
// say that nothing happened when it did, and the client would send something else in its place. So a part
// that is under way is decided elsewhere. When nobody waits for it any more, its home is asked and has some
// time to say what became of it; when it says nothing, or is gone, the client is told that nobody knows.
//
// Parts are known by the caller's numbers for them. Pure; one thread at a time. O(1) each.
class PartVerdicts {
 public:
  // `patience`: how long a home has to say what became of a part that nobody waits for.
  explicit PartVerdicts(Duration patience) : patience_(patience) {}

  // It goes to its home. Requests that are no parts are not told of, and answered false below.
  void begin(std::uint32_t part);
  // The node that had it is gone without a word about it.
  void lost(std::uint32_t part);
  // Nobody waits for it any more: CANCELLED or DEADLINE_EXCEEDED. True: its home is to be asked, and it is
  // not to be answered before end(). Later ones change nothing.
  bool stop(std::uint32_t part, ErrorCode why, TimePoint now);
  bool stopped(std::uint32_t part) const;

  // It has failed, and is over: what to answer.
  PartVerdict failed(std::uint32_t part, Error error);
  // It has succeeded, and is over.
  void end(std::uint32_t part) { parts_.erase(part); }

  // Appends those whose homes have not said in time what became of them; each is to be failed().
  void overdue(TimePoint now, std::vector<std::uint32_t>& out);

  std::size_t size() const { return parts_.size(); }

 private:
  struct Part {
    bool lost = false;
    std::optional<ErrorCode> stopped;
    std::uint64_t serial = 0;  // tells it from earlier ones of its number
  };
  struct Waiting {
    TimePoint until;
    std::uint32_t part = 0;
    std::uint64_t serial = 0;
  };

  const Duration patience_;
  std::unordered_map<std::uint32_t, Part> parts_;
  std::deque<Waiting> waiting_;  // the oldest first
  std::uint64_t serial_ = 0;
};

// What a part's client is told when nobody knows what became of it.
Error nobody_knows();

}  // namespace volvox
