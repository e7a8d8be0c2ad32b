#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/edge/held_share.h"
#include "actors/edge/in_flight.h"
#include "base/door.h"
#include "base/error.h"
#include "base/time.h"
#include "config/schema.h"
#include "protocol/sockets/outgoing_reply.h"

namespace volvox {

// Who asks: over which connection, and by which key.
struct Caller {
  ClientId connection{};             // empty: the door bounds its clients itself
  std::string account{};             // the name of the client's key; empty: none was asked for
  bool vouched = false;              // another process has applied its rules of clients
  std::uint64_t far_connection = 0;  // IncomingRequest::connection of one to another process; 0: none
  Door door = Door::kClients;
  TimePoint since{};  // when its message came; none: just now
};

class ClientShares;

struct ClientAmount {
  std::string client;
  std::size_t requests = 0, bytes = 0;
};
using ClientShare = HeldShare<ClientShares, ClientAmount>;

// One client must not use up what all of them share. Counts what each holds until the last actor has
// forgotten its requests: a client is whoever has one key, over however many connections; without keys, a
// connection. Any thread.
class ClientShares {
 public:
  explicit ClientShares(const ServeConfig& config);

  // Or OVERLOADED, naming the bound.
  static Result<ClientShare> enter(const std::shared_ptr<ClientShares>& shares, const Caller& caller,
                                   const InFlightAmount& amount);
  static Result<ClientShare> enter(const std::shared_ptr<ClientShares>& shares, const Caller& caller,
                                   std::size_t bytes) {
    return enter(shares, caller, InFlightAmount{1, bytes});
  }
  // For as many parts of a bundle as there is room for; its body is one.
  static std::vector<ClientShare> enter_parts(const std::shared_ptr<ClientShares>& shares,
                                              const Caller& caller, std::size_t parts);
  // What a part is told for which there is none.
  static Error too_many(const Caller& caller);

  std::size_t clients() const;  // that hold something

 private:
  friend ClientShare;

  struct Bounds {
    std::size_t requests = 0, bytes = 0;
  };

  const Bounds& bounds_of(const Caller& caller) const;
  Status take(const Caller& caller, std::size_t requests, std::size_t bytes);
  void give_back(const ClientAmount& share);

  Bounds usual_;
  std::map<std::string, Bounds, std::less<>> special_;  // by account
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bounds> held_;  // by account, or connection where there are no keys
};

}  // namespace volvox
