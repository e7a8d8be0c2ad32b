#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace volvox {

struct ConnectionLimits {
  std::size_t connections = 64;  // open at once
  std::size_t per_client = 0;    // of one client; 0: no such bound
  Duration patience{};           // with a connection whose request is not in work
};

// Whoever opens connections, and asks nothing or reads no answer, must not keep others out. Knows the
// connections of a door and whose they are. When the door is full, one gives way: of the client that has most
// of those that may the oldest, so that many of one client never displace the single one of another; and none
// that may lives longer than the door's patience. One whose request is in work stays. Decides only: the door
// closes what it is told. One thread at a time.
class ConnectionBounds {
 public:
  using Id = std::uint64_t;

  enum class Verdict : std::uint8_t { kEnters, kDoorIsFull, kClientHasTooMany };
  struct Entry {
    Verdict verdict = Verdict::kEnters;
    std::optional<Id> gives_way;  // is to be closed, and has left already
  };

  explicit ConnectionBounds(const ConnectionLimits& limits) : limits_(limits) {}

  Entry enter(Id id, const std::string& client, TimePoint now);
  // Something that connections need is short: another than this one is to be closed, and has left already.
  std::optional<Id> make_room(Id but);
  // Its request is in work.
  void stays(Id id);
  // It has been answered, and only has to go.
  void may_go(Id id, TimePoint now);
  void left(Id id);

  // Those that the door has no patience with any more, oldest first. They count until they have left.
  std::vector<Id> late(TimePoint now) const;

  std::size_t size() const { return open_.size(); }

 private:
  struct Connection {
    std::string client;
    TimePoint since{};
    bool may_go = true;
  };
  struct Held {
    std::size_t all = 0, may_go = 0;
  };

  std::optional<Id> oldest_that_may(const std::string& client, std::optional<Id> but = std::nullopt) const;
  std::optional<Id> who_gives_way(const std::string& newcomer, std::optional<Id> but = std::nullopt) const;

  const ConnectionLimits limits_;
  std::map<Id, Connection> open_;  // ids grow, so that the oldest comes first
  std::map<std::string, Held> clients_;
};

}  // namespace volvox
