#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace volvox {

// The frames of one call that are not answered yet. They are numbered from 0, as the parts of a session are;
// the first must be answered before others can be sent, then a few may be sent ahead of answers, in their
// order. One that failed is sent again, unchanged, and until something is answered nothing is sent ahead of
// it: whoever is overloaded is asked for less. A plain value in a few
// bytes; one thread.
class CallWindow {
 public:
  static constexpr std::uint32_t kMost = 64;  // frames without an answer
  static constexpr std::uint32_t kAhead = 8;  // of these under way; a server takes so many of a session

  // What was answered.
  struct Answered {
    std::uint64_t number = 0;
    Duration due{};
    std::uint32_t sendings = 0;
  };

  // Another frame is due, at that time. False, and nothing changes, when there are `most` without an answer.
  bool add(Duration due, std::uint32_t most = kMost);
  // The frame that is to be sent next; nothing when none may be.
  std::optional<std::uint64_t> next() const;
  // It was sent under this ticket, which no other sending has.
  void sent(std::uint64_t number, std::uint64_t ticket);

  // Whose sending has this ticket; nothing if that was given up.
  std::optional<std::uint64_t> find(std::uint64_t ticket) const;
  // It is done.
  Answered answered(std::uint64_t number);
  // It failed.
  void failed(std::uint64_t number) {
    entry(number).state = State::kWaiting;
    alone_ = true;
  }

  // Forgets the frame that is to be sent next and all after it, and puts an empty one there, to end the call.
  void cut(Duration now);

  bool empty() const { return first_ == end_; }
  bool begun() const { return begun_; }       // the first one is done
  std::uint64_t end() const { return end_; }  // the number of the next one
  std::uint32_t under_way() const;
  Duration due(std::uint64_t number) const { return entry(number).due; }
  std::uint32_t sendings(std::uint64_t number) const { return entry(number).sendings; }

 private:
  enum class State : std::uint8_t { kWaiting, kSent, kDone };
  struct Entry {
    Duration due{};
    std::uint64_t ticket = 0;
    std::uint32_t sendings = 0;
    State state = State::kWaiting;
  };

  Entry& entry(std::uint64_t number) { return entries_[number % kMost]; }
  const Entry& entry(std::uint64_t number) const { return entries_[number % kMost]; }
  std::uint64_t reach(std::uint32_t ahead) const { return end_ - first_ < ahead ? end_ : first_ + ahead; }

  std::array<Entry, kMost> entries_{};
  std::uint64_t first_ = 0, end_ = 0;  // all before the first are done
  bool begun_ = false;                 // the first frame of the call is
  bool alone_ = false;                 // one failed, and none was done since
};

}  // namespace volvox
