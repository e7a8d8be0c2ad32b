#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "routing/sessions/session.h"

namespace volvox {

// The copies of sessions' states that are under way, by device. A device makes one after the other; when the
// first takes longer than `patience`, the device hangs, and whoever waits for this copy, or one behind it,
// would wait for ever. Pure: no clock. One thread.
class CopyWatch {
 public:
  CopyWatch(std::size_t devices, Duration patience) : devices_(devices), patience_(patience) {}

  void begun(std::uint32_t device, SessionRef session, TimePoint now);
  // The device's first copy has ended. True: the device had been said to hang, and does not any more.
  bool ended(std::uint32_t device, TimePoint now);

  // The sessions whose copies will not end, each said once; empty unless the device hangs.
  std::vector<SessionRef> given_up(std::uint32_t device, TimePoint now);
  bool hangs(std::uint32_t device) const { return devices_[device].hangs; }
  // When given_up() may have something to say.
  std::optional<TimePoint> next() const;

 private:
  struct Copies {
    std::deque<SessionRef> sessions;  // the one that is being made first
    std::size_t said = 0;             // of these
    TimePoint since{};                // when the first one's turn came
    bool hangs = false;
  };

  std::vector<Copies> devices_;
  const Duration patience_;
};

}  // namespace volvox
