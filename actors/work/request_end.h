#pragma once

#include <atomic>
#include <optional>

#include "base/error.h"

namespace volvox {

// Who ends a request: whoever runs it, with what came of it, or the actor that answers it, which gives it up.
// Both may want to at the same moment, and what is counted must be what the client is told. The first one has
// it. Any thread.
class RequestEnd {
 public:
  // False: it has ended by itself, and its answer is on its way.
  bool give_up(ErrorCode as) {
    int open = kOpen;
    return state_.compare_exchange_strong(open, static_cast<int>(as)) || open != kEnded;
  }
  // As what, if it was.
  std::optional<ErrorCode> given_up() const {
    const int state = state_.load();
    return state == kOpen || state == kEnded ? std::nullopt : std::optional(static_cast<ErrorCode>(state));
  }
  // It has ended by itself. As what it was given up before, if it was.
  std::optional<ErrorCode> by_itself() {
    int open = kOpen;
    if (state_.compare_exchange_strong(open, kEnded) || open == kEnded) return std::nullopt;
    return static_cast<ErrorCode>(open);
  }

 private:
  static constexpr int kOpen = -1, kEnded = -2;  // else the ErrorCode

  std::atomic<int> state_{kOpen};
};

}  // namespace volvox
