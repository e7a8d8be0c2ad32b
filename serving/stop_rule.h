#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace volvox {

// Who wants the process to end.
enum class StopAsker : std::uint8_t {
  kSignal,  // SIGTERM, SIGINT or SIGHUP, from outside
  kOrder,   // a router, on behalf of its operator
};

// What the process does about it.
enum class StopStep : std::uint8_t {
  kNone,   // it is under way already
  kDrain,  // let requests in flight end, and then go
  kLeave,  // at once, whatever is left
};

// Whoever stops processes rarely does so once: operators drain before they stop, a terminal's Ctrl-C reaches
// a script and its children, two routers drain one node. None of that is impatience. Impatient is a second
// signal a good while after the first one; and no stop lasts longer than it was given. One thread at a time.
class StopRule {
 public:
  // `at_most`: from the first wish until the process leaves with whatever is left. A signal within `repeat`
  // of the first one is the same wish again.
  explicit StopRule(Duration at_most, Duration repeat = std::chrono::seconds(1))
      : at_most_(at_most), repeat_(repeat) {}

  // From now on there may be requests. Before, a signal needs no drain.
  void open() { open_ = true; }
  StopStep hear(StopAsker who, TimePoint now);

  // When the process leaves in any case; nothing as long as nobody wants it to end.
  std::optional<TimePoint> deadline() const { return deadline_; }

 private:
  const Duration at_most_, repeat_;
  bool open_ = false;
  std::optional<TimePoint> deadline_, first_signal_;
};

}  // namespace volvox
