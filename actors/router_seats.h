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

#include "actors/cluster_dialer.h"
#include "actors/cluster_peer.h"
#include "actors/cluster_transport.h"
#include "base/time.h"
#include "monitoring/cluster_metrics.h"

namespace volvox {

// What a node knows of the router at one address.
struct RouterSeat {
  using AttemptKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Running {
    caf::actor request;
    std::uint64_t bytes = 0;
    std::size_t model = 0;  // its number, or beyond all
    double cells = 0;
  };

  std::string address;  // none: the seat is free
  bool listed = false;  // one of the routers that the node shall join; else its seat goes with its link
  bool twin = false;    // the router that answers there has another seat
  caf::actor dialer;
  std::optional<ClusterPeer> link;
  bool joined = false;
  std::uint32_t epoch = 0;  // counts joins; goes on when the seat is taken anew
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
  // The link is over: dials again, or frees the seat.
  void unlink(std::uint32_t number);
  // Nobody dials any more.
  void close();

  std::optional<std::uint32_t> find(const caf::actor_addr& router) const;
  std::uint32_t size() const { return static_cast<std::uint32_t>(seats_.size()); }
  RouterSeat& operator[](std::uint32_t number) { return seats_[number]; }
  const RouterSeat& operator[](std::uint32_t number) const { return seats_[number]; }
  auto begin() const { return seats_.begin(); }
  auto end() const { return seats_.end(); }

 private:
  void open(const std::string& address);
  void free(RouterSeat& seat);

  const Setup setup_;
  std::deque<RouterSeat> seats_;
  bool crowded_ = false;  // that there are too many was logged
};

}  // namespace volvox
