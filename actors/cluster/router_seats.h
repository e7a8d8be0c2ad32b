#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <caf/all.hpp>

#include "actors/cluster/cluster_dialer.h"
#include "actors/cluster/cluster_peer.h"
#include "actors/cluster/cluster_transport.h"
#include "actors/node/offered_models.h"
#include "base/time.h"
#include "monitoring/metrics/cluster_metrics.h"

namespace volvox {

// What a node knows of the router at one address.
struct RouterSeat {
  using AttemptKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Running {
    caf::actor request;
    std::uint64_t bytes = 0;
    OfferedPtr model;  // null: it is none that is offered
    double cells = 0;

    double work_ns() const { return model ? cells * model->cell_ns : 0; }
  };

  std::string address;  // none: the seat is free
  bool listed = false;  // one of the routers that the node shall join; else its seat goes with its link
  bool twin = false;    // the router that answers there has another seat
  caf::actor dialer;
  std::optional<ClusterPeer> link;
  bool joined = false;
  bool leaving = false;        // the last words are on their way; gone when the router has answered them
  bool answers_leave = false;  // an older one does not
  TimePoint join_again{};      // after it refused; 0: it has not
  std::uint16_t speaks = 0;    // the version of the protocol that both ends know
  std::uint32_t list = 0;      // the newest offers that it was told …
  TimePoint told{};            // … when
  bool taken = false;          // … and whether it has said so
  std::uint32_t epoch = 0;     // counts joins; goes on when the seat is taken anew
  std::int64_t echo = -1;
  TimePoint heard{};
  std::map<AttemptKey, Running> running;
};

// A seat for each address of a router, by number: who dials it, and the link to it. Belongs to one actor, and
// is used in it alone.
class RouterSeats {
 public:
  struct Setup {
    caf::event_based_actor* self = nullptr;  // gets Dialed
    std::shared_ptr<const ClusterTransport> transport;
    ClusterMetrics* metrics = nullptr;
    ClusterFlowLimits flow;
    std::uint32_t most = 1;  // seats
  };

  explicit RouterSeats(Setup setup) : setup_(std::move(setup)) {}

  // The routers are at these addresses now. New ones are dialled; one that is gone keeps its seat as long as
  // its link holds. Those beyond the bound are left out, and logged.
  void list(const std::vector<std::string>& addresses);
  // Whether the seat is linked now: not when it was given up meanwhile, or the router has another seat.
  bool link(const Dialed& dialed);
  // A new life of the seat's link: nothing that was under way counts any more.
  void renew(std::uint32_t number) { seats_[number].link->link().begin(++generation_); }
  // The link is over: dials again, or frees the seat.
  void unlink(std::uint32_t number);
  // Nobody dials any more.
  void close();
  // A dialer that failed has another in its place. False: it is no dialer of these.
  bool replace_dialer(const caf::actor_addr& ended);

  std::optional<std::uint32_t> find(const caf::actor_addr& router) const;
  std::uint32_t size() const { return static_cast<std::uint32_t>(seats_.size()); }
  RouterSeat& operator[](std::uint32_t number) { return seats_[number]; }
  const RouterSeat& operator[](std::uint32_t number) const { return seats_[number]; }
  auto begin() const { return seats_.begin(); }
  auto end() const { return seats_.end(); }

 private:
  void open(const std::string& address);
  caf::actor make_dialer(const std::string& address, std::uint32_t number);
  void free(RouterSeat& seat);

  const Setup setup_;
  std::deque<RouterSeat> seats_;
  LinkGeneration generation_ = 0;  // of all seats: a router may get another one
  bool crowded_ = false;           // that there are too many was logged
  bool closed_ = false;
};

}  // namespace volvox
