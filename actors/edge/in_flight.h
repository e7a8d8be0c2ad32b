#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <caf/actor.hpp>

#include "actors/edge/held_share.h"
#include "base/recycled_map.h"
#include "base/time.h"
#include "protocol/sockets/edge_socket.h"

namespace volvox {

// How much the requests in flight may hold.
struct InFlightLimits {
  std::size_t requests = 16'384;
  std::size_t bytes = std::size_t{1} << 30;
};

class InFlightGauge;

struct InFlightAmount {
  std::size_t requests = 0, bytes = 0;
};
using InFlightShare = HeldShare<InFlightGauge, InFlightAmount>;

// Counts what requests hold until the last actor has forgotten them, which may be later than their answer: a
// client that cancels all it sends must not get past the bounds. Any thread.
class InFlightGauge {
 public:
  explicit InFlightGauge(const InFlightLimits& limits) : limits_(limits) {}

  // False when a bound is reached.
  static InFlightShare enter(const std::shared_ptr<InFlightGauge>& gauge, const InFlightAmount& amount);
  static InFlightShare enter(const std::shared_ptr<InFlightGauge>& gauge, std::size_t bytes) {
    return enter(gauge, InFlightAmount{1, bytes});
  }

  std::size_t requests() const { return requests_.load(std::memory_order_relaxed); }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend InFlightShare;

  bool take(const InFlightAmount& amount);
  void give_back(const InFlightAmount& amount);

  const InFlightLimits limits_;
  std::atomic<std::size_t> requests_{0}, bytes_{0};
};

// The requests that have no answer yet, by client and by the client's own number for them. Entries are made
// by the gateway's thread and removed by whoever answers.
class InFlightTable {
 public:
  // False when the client has a request with this number in flight. `account` is the name of its key, empty
  // without one. Its actor comes next, with set(): it may answer as soon as it is there.
  bool add(const ClientId& client, std::uint64_t id, TimePoint now = {}, const std::string& account = {});
  // Ignored once the request is answered.
  void set(const ClientId& client, std::uint64_t id, caf::actor request);
  // As add() and set(), for parts of a bundle, which one actor answers: by place in `ids`, whether each was
  // added.
  std::vector<bool> add_all(const ClientId& client, std::span<const std::uint64_t> ids, TimePoint now,
                            const std::string& account);
  void set_all(const ClientId& client, std::span<const std::uint64_t> ids, const caf::actor& requests);
  // A message came from the client. False, and nothing is noted: whoever had requests in flight under this id
  // had another key, so that they are not this one's to cancel, to keep alive or to have answered.
  bool hear(const ClientId& client, TimePoint now, std::string_view account = {});
  // Clients with requests in flight that were last heard of before `since`, and were not given up since then.
  std::vector<ClientId> silent(TimePoint since) const;
  // As if all of them had been heard of: it was this process that could not listen.
  void hear_all(TimePoint now);
  // The request of this account is about to be answered: forgets it. True for the caller that must answer
  // now, and call answered() once the answer is on its way.
  bool remove(const ClientId& client, std::uint64_t id, std::string_view account = {});
  // The same for parts of a bundle, by place in `ids`.
  std::vector<bool> remove_all(const ClientId& client, std::span<const std::uint64_t> ids,
                               std::string_view account);
  void answered(std::size_t count = 1);
  // A message of the client came at `now` whose requests will be added, or refused, later. They are
  // unanswered until met() is called after that, and the client is known meanwhile.
  void expect(const ClientId& client, std::size_t count, TimePoint now, const std::string& account);
  void met(const ClientId& client, std::size_t count);

  // The requests of a client that says nothing. They are answered all the same, should it only have slept.
  std::vector<caf::actor> give_up(const ClientId& client);
  // Forgets all requests of a client that nothing can reach any more: they need no answer.
  std::vector<caf::actor> take_client(const ClientId& client);

  // Of those with the ids from `first` on, `count` at most, that are in flight.
  std::vector<caf::actor> find_all(const ClientId& client, std::uint64_t first, std::uint32_t count) const;
  std::vector<caf::actor> all() const;

  std::size_t unanswered() const;
  // Parts of bundles, of all clients and of one.
  std::size_t bundled() const;
  std::size_t bundled_of(const ClientId& client) const;
  // Waits until every request is answered. False: it took too long.
  bool wait_until_empty(Duration timeout) const;

 private:
  struct Request {
    caf::actor actor;
    bool bundled = false;  // it is a part of a bundle
  };
  struct Client {
    RecycledMap<Request> requests;  // by the client's number
    TimePoint heard{};
    bool given_up = false;     // and not heard of since
    std::size_t bundled = 0;   // of the requests
    std::size_t expected = 0;  // besides them
    std::string account;

    // What waited may be older than the last word.
    void hear(TimePoint at) {
      if (at < heard) return;
      heard = at;
      given_up = false;
    }
    bool idle() const { return requests.empty() && expected == 0; }
  };

  using Clients = std::unordered_map<ClientId, Client>;

  static constexpr std::size_t kMostSpare = 16;

  bool add(Client& entry, std::uint64_t id, bool bundled);
  void erase(Client& entry, RecycledMap<Request>::iterator request);
  Client& enter(const ClientId& client);
  void leave_if_idle(Clients::iterator client);

  mutable std::mutex mutex_;
  mutable std::condition_variable empty_;
  Clients clients_;
  std::vector<Clients::node_type> spare_;  // of clients that have none left, for those that come
  std::size_t unanswered_ = 0;  // entries, those expected, and answers that are not on their way yet
  std::size_t bundled_ = 0;     // entries that are parts of bundles
};

}  // namespace volvox
