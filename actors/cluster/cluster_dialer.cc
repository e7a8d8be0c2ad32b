#include "actors/cluster/cluster_dialer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include <caf/io/all.hpp>
#include <netdb.h>
#include <spdlog/spdlog.h>

#include "actors/cluster/cluster_probe.h"
#include "actors/system/shell.h"
#include "base/random_number.h"
#include "config/addresses.h"
#include "config/validate.h"

namespace volvox {
namespace {

// Between two tries; a router that was there once will be there again.
constexpr std::chrono::milliseconds kLeast{100}, kMost{1800};
constexpr unsigned kJitterMs = 200;
constexpr std::chrono::seconds kLinkConnect{3};  // for CAF, after the probe

class DialerShell {
 public:
  static constexpr const char* kName = "cluster dialer";

  DialerShell(caf::event_based_actor* self, DialerSetup setup)
      : self_(self), setup_(std::move(setup)), dice_(random_bits().value_or(0)) {}

  caf::behavior behavior() {
    return {[this](DialAtom) { dial(); }};
  }

 private:
  void dial() {
    const auto router = parse_host_port(setup_.address);
    if (!router) return spdlog::error("cluster.routers: {}", to_string(router.error()));
    if (const Status taken = probe(*router); !taken) return try_later(taken.error().message);
    self_
        ->request(setup_.transport->dialer(self_->system()), kLinkConnect, caf::connect_atom::value,
                  without_brackets(router->host), router->port)
        .then(
            [this](const caf::node_id&, const caf::strong_actor_ptr& actor, const std::set<std::string>&) {
              probe_.reset();
              if (!actor) return try_later("what answers there is no router");
              trouble_.clear();
              patience_ = kLeast;
              answered_ = true;
              self_->send(setup_.owner,
                          Dialed{setup_.seat, setup_.address, caf::actor_cast<caf::actor>(actor)});
            },
            [this](const caf::error& error) {
              probe_.reset();
              try_later(self_->system().render(error));
            });
  }

  // `probe_` is connected to it afterwards.
  Status probe(const HostPort& router) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    const int error = getaddrinfo(without_brackets(router.host).c_str(), std::to_string(router.port).c_str(),
                                  &hints, &found);
    if (error != 0) return fail(ErrorCode::kUnavailable, gai_strerror(error));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, freeaddrinfo);
    auto taken = probe_router(*address, setup_.transport->tls());
    if (!taken) return tl::unexpected(std::move(taken).error());
    probe_.emplace(std::move(*taken));
    return {};
  }

  void try_later(const std::string& why) {
    setup_.metrics->dial_failed();
    if (why != trouble_) spdlog::warn("router {} cannot be reached, trying on: {}", setup_.address, why);
    trouble_ = why;
    const auto jitter = std::chrono::milliseconds(dice_() % kJitterMs);
    self_->delayed_send(self_, patience_ + jitter, DialAtom::value);
    if (!answered_) patience_ = std::min(2 * patience_, kMost);
  }

  caf::event_based_actor* self_;
  const DialerSetup setup_;
  std::string trouble_;                   // that was told of last
  std::optional<ProbeConnection> probe_;  // while CAF dials
  std::chrono::milliseconds patience_ = kLeast;
  bool answered_ = false;  // ever
  std::minstd_rand dice_;
};

}  // namespace

caf::actor spawn_cluster_dialer(caf::actor_system& system, DialerSetup setup) {
  return spawn_shell<DialerShell, caf::detached>(system, std::move(setup));
}

}  // namespace volvox
