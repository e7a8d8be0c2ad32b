#pragma once

#include <cstdint>

namespace volvox {

// Connections that each door of a process may have open at once.
struct DoorBounds {
  std::uint64_t clients = 0;  // ZeroMQ
  std::uint64_t http = 0;     // HTTP, which clients use too
  std::uint64_t monitor = 0;  // metrics and probes, together
  std::uint64_t cluster = 0;  // links of nodes
  std::uint64_t admin = 0;

  std::uint64_t sum() const { return clients + http + monitor + cluster + admin; }
  bool operator==(const DoorBounds&) const = default;
};

// Whoever reaches one door must not be able to take the descriptors that the others need: each door turns
// away what is beyond its bound, and the bounds together fit what the process may open. `limit`: descriptors
// that it may have; `held`: that it needs for itself, and for models that come later. Where the wishes do not
// fit, the doors of strangers (clients, HTTP, links) give way in proportion, down to a few each; metrics,
// probes and the operator keep what they wish for as long as there is any.
DoorBounds split_descriptors(std::uint64_t limit, std::uint64_t held, const DoorBounds& wishes);

}  // namespace volvox
