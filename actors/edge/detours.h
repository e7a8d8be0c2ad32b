#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "actors/edge/held_share.h"

namespace volvox {

class Detours;
// That a request goes by way of another; until it has arrived.
using Detour = HeldShare<Detours, std::uint64_t>;

// Parts of sessions arrive in the order in which their connection has sent them, though large ones are read
// by somebody else on their way: while one of a connection is there, those that follow it go the same way.
// This knows how many are. Any thread; those of one connection are asked about by one at a time.
class Detours : public std::enable_shared_from_this<Detours> {
 public:
  // Of a request of this connection that comes now; empty: it goes straight.
  Detour take(std::uint64_t connection, bool large);

 private:
  friend Detour;
  void give_back(std::uint64_t connection);

  std::atomic<std::size_t> all_{0};
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::size_t> under_way_;  // by connection
};

}  // namespace volvox
