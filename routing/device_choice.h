#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "base/time.h"

namespace volvox {

// A process may compute on several devices, alike, each with a scheduler of its own, and a request runs on
// one of them from its first cell to its last. This knows the work that each has taken on and not ended, by
// estimate, and chooses where the next request goes: where the least is left to do. What lives longer than a
// request, a session's state, moves only when that gains more than the copy costs (docs/architecture.md).
// Pure; not thread-safe.
class DeviceChoice {
 public:
  explicit DeviceChoice(std::uint32_t devices) : loads_(devices) {}

  using Usable = std::function<bool(std::uint32_t device)>;
  // The usable devices, the one with the least left to do first; of equals the one with fewer requests, then
  // the first. So what is hardly used stays on few devices, and their caches warm.
  std::vector<std::uint32_t> in_order(const Usable& usable) const;
  // The first of them; nothing if none is usable.
  std::optional<std::uint32_t> choose(const Usable& usable) const;
  // Whether what is at `home` would rather be at `other`, if it has to be copied there first.
  bool worth_moving(std::uint32_t home, std::uint32_t other, Duration copy) const;

  // A request was placed / has ended: the same estimate both times.
  void enter(std::uint32_t device, Duration work);
  void leave(std::uint32_t device, Duration work);

 private:
  struct Load {
    Duration work{0};
    std::uint64_t requests = 0;
    bool operator<(const Load& other) const {
      return std::tie(work, requests) < std::tie(other.work, other.requests);
    }
  };

  std::vector<Load> loads_;  // by device
};

}  // namespace volvox
