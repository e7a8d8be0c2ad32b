#include "actors/cluster/router_seats.h"

#include <algorithm>
#include <set>
#include <utility>

#include <spdlog/spdlog.h>

namespace volvox {

void RouterSeats::list(const std::vector<std::string>& addresses) {
  std::set<std::string> fresh(addresses.begin(), addresses.end());
  for (RouterSeat& seat : seats_) {
    if (seat.address.empty()) continue;
    seat.listed = fresh.erase(seat.address) != 0;
    if (!seat.listed && !seat.link) {
      spdlog::info("router {} is given up: its name stands for it no more", seat.address);
      free(seat);
    } else if (std::exchange(seat.twin, false)) {  // its other way may be gone
      setup_.self->send(seat.dialer, DialAtom::value);
    }
  }
  for (const std::string& address : fresh) open(address);
}

void RouterSeats::open(const std::string& address) {
  auto seat =
      std::find_if(seats_.begin(), seats_.end(), [](const RouterSeat& one) { return one.address.empty(); });
  if (seat == seats_.end()) {
    if (seats_.size() >= setup_.most) {
      if (!std::exchange(crowded_, true))
        spdlog::error("router {} is left out: there are more than cluster.max_routers", address);
      return;
    }
    seat = seats_.emplace(seats_.end());
  }
  seat->address = address;
  seat->listed = true;
  const auto number = static_cast<std::uint32_t>(seat - seats_.begin());
  seat->dialer = make_dialer(address, number);
  setup_.self->send(seat->dialer, DialAtom::value);
}

caf::actor RouterSeats::make_dialer(const std::string& address, std::uint32_t number) {
  caf::actor dialer = spawn_cluster_dialer(
      setup_.self->system(),
      {address, number, caf::actor_cast<caf::actor>(setup_.self), setup_.transport, setup_.metrics});
  setup_.self->monitor(dialer);
  return dialer;
}

bool RouterSeats::replace_dialer(const caf::actor_addr& ended) {
  const auto seat =
      std::find_if(seats_.begin(), seats_.end(), [&](const RouterSeat& one) { return one.dialer == ended; });
  if (seat == seats_.end()) return false;
  if (closed_) return true;
  seat->dialer = make_dialer(seat->address, static_cast<std::uint32_t>(seat - seats_.begin()));
  if (!seat->link) setup_.self->send(seat->dialer, DialAtom::value);
  return true;
}

void RouterSeats::free(RouterSeat& seat) {
  setup_.self->send_exit(seat.dialer, caf::exit_reason::user_shutdown);
  const std::uint32_t epoch = seat.epoch + 1;
  seat = RouterSeat{};
  seat.epoch = epoch;
  crowded_ = false;
}

bool RouterSeats::link(const Dialed& dialed) {
  RouterSeat& seat = seats_[dialed.seat];
  if (seat.address != dialed.address || seat.link) return false;
  seat.twin = find(dialed.router.address()).has_value();
  if (seat.twin) return false;
  seat.link.emplace(setup_.self, dialed.router, LinkEnd::kDials, setup_.flow);
  setup_.self->monitor(dialed.router);
  return true;
}

void RouterSeats::unlink(std::uint32_t number) {
  RouterSeat& seat = seats_[number];
  setup_.self->demonitor(seat.link->handle());
  seat.link.reset();
  if (!seat.listed) return free(seat);
  if (!closed_) setup_.self->send(seat.dialer, DialAtom::value);
}

void RouterSeats::close() {
  closed_ = true;
  for (const RouterSeat& seat : seats_) {
    if (seat.dialer) caf::anon_send_exit(seat.dialer, caf::exit_reason::user_shutdown);
  }
}

std::optional<std::uint32_t> RouterSeats::find(const caf::actor_addr& router) const {
  for (std::uint32_t i = 0; i < size(); ++i)
    if (seats_[i].link && seats_[i].link->handle() == router) return i;
  return std::nullopt;
}

}  // namespace volvox
